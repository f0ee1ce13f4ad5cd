package memstore

import (
	"context"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/flakepass/flakepass/idworker"
)

const (
	// renewals is how many answers are renewed ahead of time at once.
	renewals = 16

	// renewPause is how long an answer is not renewed again after one attempt.
	renewPause = time.Second
)

// renewAhead asks anew for what is in use and past half of its life, while it
// still answers: no caller waits for it, and when the database goes away, what was
// in use has at least half of its life left.
func (t *Sessions) renewAhead(id idworker.ID, e *entry, now time.Time) {
	if now.Sub(e.AsOf) < t.life/2 {
		return
	}
	due := e.renew.Load()
	if now.UnixMilli() < due || !e.renew.CompareAndSwap(due, now.Add(renewPause).UnixMilli()) {
		return
	}
	select {
	case t.ahead <- struct{}{}:
	default:
		return // enough are under way; there is time
	}
	go func() {
		defer func() { <-t.ahead }()
		fresh, err := t.ask(context.Background(), id)
		if err != nil {
			return // it answers on, for as long as it may
		}
		t.cache.ComputeIfPresent(id, func(held *entry) (*entry, otter.ComputeOp) {
			if held != e || (fresh.Alive() && !fresh.AsOf.After(e.AsOf)) {
				return held, otter.CancelOp
			}
			if seen := e.seen.Load(); seen > fresh.seen.Load() {
				fresh.seen.Store(seen)
			}
			return fresh, otter.WriteOp
		})
	}()
}
