package client

import (
	"context"
	"math/rand/v2"
	"net/http"
	"time"
)

// maxWait is how long a call waits at most before it is sent again. Whoever is
// told to wait for longer gets the problem instead.
const maxWait = 30 * time.Second

// later reports whether the problem may be over soon.
func (p *Problem) later() bool {
	return (p.Status == http.StatusServiceUnavailable || p.Status == http.StatusTooManyRequests) && p.RetryAfter <= maxWait
}

// wait is when to try again: after the time that the server gives, or a second,
// and up to half of it more, so that those who were told so together do not come
// back together.
func (p *Problem) wait() time.Duration {
	d := max(p.RetryAfter, time.Second)
	return d + rand.N(d/2) //nolint:gosec // jitter
}

// pause waits, or reports false if ctx would end before.
func pause(ctx context.Context, d time.Duration) bool {
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
