package ratelimit

import (
	"context"
	"time"
)

// The limits of one call of [Clear].
const (
	clearBatch = 500
	clearTime  = 10 * time.Second // the next call goes on
)

// Clear deletes guards that are full again, which say nothing, in small batches
// with as long a pause after each as it took, for at most ten seconds. It returns
// how many. What it leaves then, or when it fails, the next call deletes. Any number
// of instances may call it at the same time.
func Clear(ctx context.Context, r Records) (int, error) {
	all := 0
	for begin := time.Now(); time.Since(begin) < clearTime; {
		start := time.Now()
		n, err := r.Clear(ctx, clearBatch)
		if all += n; err != nil || n < clearBatch {
			return all, err
		}
		select {
		case <-ctx.Done():
			return all, ctx.Err()
		case <-time.After(time.Since(start)):
		}
	}
	return all, nil
}
