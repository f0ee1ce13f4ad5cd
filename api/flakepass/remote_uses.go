package flakepass

import (
	"context"
	"sync"
	"time"
)

// A use is one of which the server has yet to be told.
type use struct {
	of   *remembered
	at   instant
	mono steady
}

// uses are those that wait. Of one login at most one waits, and it is the first
// since the last that was told: that is as accurate as the policy asks for.
type uses struct {
	mu   sync.Mutex
	wait []use
}

// maxWaiting is how many may wait. Beyond it they are dropped: a login that is
// used on will be noted again.
const maxWaiting = 1 << 16

func (u *uses) add(one use) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.wait) >= maxWaiting {
		one.of.using.Store(false)
		return
	}
	u.wait = append(u.wait, one)
}

// take is at most n of them, the oldest first.
func (u *uses) take(n int) []use {
	u.mu.Lock()
	defer u.mu.Unlock()
	n = min(max(n, 0), len(u.wait))
	if n == 0 {
		return nil
	}
	taken := u.wait[:n:n]
	if u.wait = u.wait[n:]; len(u.wait) == 0 {
		u.wait = nil
	}
	return taken
}

// back takes back what could not be told. What the server does not want to hear
// is dropped, or nobody would get an answer any more that it goes with; a login
// that is used on is noted again.
func (u *uses) back(told []use, again bool) {
	for _, one := range told {
		if again {
			u.add(one)
		} else {
			one.of.using.Store(false)
		}
	}
}

// acknowledge notes what the server has made of the uses. A login that does not
// live, or of which it cannot tell, is asked about the next time.
func (r *Remote) acknowledge(told []use, noted []bool) {
	clock := r.known.clock.Load()
	for i, one := range told {
		if !noted[i] {
			r.cache.drop(one.of)
			continue
		}
		// That the server was told does not say that the row has taken it: what is
		// remembered of the row stays as it was. No later than it was by the server's
		// clock.
		one.of.noted.Store(clock.earliest(one.mono))
		one.of.using.Store(false)
	}
}

// tellUses tells of uses that no question takes along, and of the last ones when
// ctx ends.
func (r *Remote) tellUses(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			r.flushUses() //nolint:contextcheck // the last ones go although ctx has ended
			return
		case <-tick.C:
			r.flushUses() //nolint:contextcheck // as above
		}
	}
}

func (r *Remote) flushUses() {
	for {
		r.uses.mu.Lock()
		n := len(r.uses.wait)
		r.uses.mu.Unlock()
		if n == 0 || r.closed.Load() || r.verifications(nil) != nil || n <= maxUses {
			return
		}
	}
}
