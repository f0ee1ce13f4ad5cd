package memstore

import (
	"context"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/flakepass/flakepass/idworker"
)

// renewals is how many answers are renewed ahead of time at once.
const renewals = 16

// renewAhead asks anew for what is in use and past half of its life, while it
// still answers: no caller waits for it, and when the database goes away, what was
// in use has at least half of its life left.
func (t *Sessions) renewAhead(id idworker.ID, e *entry, now time.Time) {
	if now.Sub(e.asOf) < t.life/2 {
		return
	}
	// Once a second, also if that fails. 32 bits are enough until the year 2106.
	last, second := e.renewed.Load(), uint32(now.Unix())
	if last >= second || !e.renewed.CompareAndSwap(last, second) {
		return
	}
	select {
	case t.ahead <- struct{}{}:
	default:
		return // enough are under way; there is time
	}
	go func() {
		defer func() { <-t.ahead }()
		fresh, err := t.ask(context.Background(), id, e.hash)
		if err != nil {
			return // it answers on, for as long as it may
		}
		t.cache.ComputeIfPresent(id, func(held *entry) (*entry, otter.ComputeOp) {
			if held != e || (fresh.kind.ended == "" && !fresh.asOf.After(e.asOf)) {
				return held, otter.CancelOp
			}
			if seen := e.seen.Load(); seen > fresh.seen.Load() {
				fresh.seen.Store(seen)
			}
			return fresh, otter.WriteOp
		})
	}()
}
