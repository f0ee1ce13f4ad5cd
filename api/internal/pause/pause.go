// Package pause waits between two calls.
package pause

import (
	"context"
	"time"
)

// For waits for d. It reports false, at once, if ctx ends before.
func For(ctx context.Context, d time.Duration) bool {
	if end, limited := ctx.Deadline(); limited && time.Until(end) <= d {
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
