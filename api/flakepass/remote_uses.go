package flakepass

import (
	"context"
	"sync"
	"time"
)

// A use has not been reported to the server yet.
type use struct {
	of   *remembered
	at   instant
	mono steady
}

// uses are those that wait. Of one login at most one waits, and it is the first
// since the last that was reported: that is as accurate as the policy asks for.
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

// back takes back what could not be reported. What the server does not accept
// is dropped: otherwise each call that carries it would fail. The next use of the
// login is noted again.
func (u *uses) back(sent []use, again bool) {
	for _, one := range sent {
		if again {
			u.add(one)
		} else {
			one.of.using.Store(false)
		}
	}
}

// acknowledge notes what the server has made of the uses. If a login has ended, or if the server
// does not know its state, the answer that is remembered is dropped, so that the next Verify asks.
func (r *Remote) acknowledge(sent []use, noted []bool) {
	clock := r.known.clock.Load()
	for i, one := range sent {
		if !noted[i] {
			r.cache.drop(one.of)
			continue
		}
		// The server has received the use, but its row may not have it yet. So the time of last
		// use that is remembered of the row stays as it was. noted is the earliest time that the
		// server's clock may have shown at this use.
		one.of.noted.Store(clock.earliest(one.mono))
		one.of.using.Store(false)
	}
}

// reportUses reports, once a second, the uses that no question carries. When ctx ends, it reports
// the last ones.
func (r *Remote) reportUses(ctx context.Context) {
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
