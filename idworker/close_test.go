package idworker_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/idworker"
)

func TestClosedWorkerRefuses(t *testing.T) {
	w := open(t, newStore(1), idworker.Options{})
	for range 2 {
		if err := w.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if id, err := w.Next(t.Context()); !errors.Is(err, idworker.ErrClosed) {
			t.Errorf("got %d, %v, want ErrClosed", id, err)
		}
	}
	if err := w.Run(t.Context()); err != nil {
		t.Errorf("Run of a closed worker: %v", err)
	}
}

// TestClosedWorkerRefusesWhateverTheClockSays: to callers that try again while
// the clock is behind, a closed worker looked like one to wait for.
func TestClosedWorkerRefusesWhateverTheClockSays(t *testing.T) {
	for _, policy := range []idworker.ClockPolicy{
		idworker.ClockSteady, idworker.ClockRefuse, idworker.ClockWait, idworker.ClockIgnore,
	} {
		synctest.Test(t, func(t *testing.T) {
			var c shifted
			w := open(t, newStore(1), idworker.Options{Layout: twentieth(), Clock: policy, Now: c.now})
			next(t, w)
			c.step(-time.Hour)
			if err := w.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if id, err := w.Next(t.Context()); !errors.Is(err, idworker.ErrClosed) {
				t.Errorf("policy %d: Next: %d, %v, want ErrClosed", policy, id, err)
			}
			if _, err := w.NextN(t.Context(), make([]idworker.ID, 3)); !errors.Is(err, idworker.ErrClosed) {
				t.Errorf("policy %d: NextN: %v, want ErrClosed", policy, err)
			}
		})
	}
}
