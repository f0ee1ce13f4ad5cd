package idworker_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/idworker"
)

// TestRefusedCallsUseUpNoFuture: calls that fail, however many, leave minting at most MaxWait ahead
// of the clock, so that it goes on when the clock has moved by that.
func TestRefusedCallsUseUpNoFuture(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for name, call := range map[string]func(*idworker.Worker) error{
		"one": func(w *idworker.Worker) error { _, err := w.Next(over); return err },
		"many": func(w *idworker.Worker) error {
			_, err := w.NextN(over, make([]idworker.ID, 1<<7))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := twentieth()
				l.TimeBits, l.SequenceBits = 45, 8 // few IDs in a millisecond
				s := newStore(1)
				w := open(t, s, idworker.Options{Layout: l})
				for range 100_000 {
					_ = call(w)
				}
				if ahead := time.Until(time.UnixMilli(s.fence(0))); ahead > 2*idworker.MaxWait {
					t.Errorf("the fence is %v ahead", ahead)
				}
				time.Sleep(idworker.MaxWait) //nolint:forbidigo // of the bubble's clock
				if _, err := w.Next(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestOutageUsesUpNoFuture is the same for calls that fail because the Lender is down.
func TestOutageUsesUpNoFuture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := twentieth()
		l.TimeBits, l.SequenceBits = 49, 4
		s := newStore(1)
		w := open(t, s, idworker.Options{Layout: l})
		s.down = time.Now().Add(time.Second)
		time.Sleep(500 * time.Millisecond) //nolint:forbidigo // of the bubble's clock
		for range 100_000 {
			if _, err := w.Next(t.Context()); !errors.Is(err, idworker.ErrNoGrant) {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second) //nolint:forbidigo // of the bubble's clock
		start := time.Now()
		next(t, w)
		if took := time.Since(start); took > 0 {
			t.Errorf("the first ID after the outage took %v", took)
		}
	})
}

// TestIgnoredClockLeavesLongUnits: under ClockIgnore the next unit is always due, however long it is.
func TestIgnoredClockLeavesLongUnits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := twentieth()
		l.Unit, l.TimeBits, l.WorkerBits, l.SequenceBits = 3*idworker.MaxWait, 40, 21, 2
		w := open(t, newStore(1), idworker.Options{Layout: l, Clock: idworker.ClockIgnore})
		ids := make([]idworker.ID, 40)
		if n, err := w.NextN(t.Context(), ids); err != nil {
			t.Errorf("%d, then %v", n, err)
		}
	})
}
