package sweep_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/sweep"
)

// copies are replicas that are as far behind as a test says.
type copies struct {
	mu     sync.Mutex
	behind func(asked time.Duration) (time.Duration, error) // since it was first asked
	first  time.Time
	asked  int
}

func (c *copies) Behind(context.Context) (time.Duration, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.first.IsZero() {
		c.first = time.Now()
	}
	c.asked++
	return c.behind(time.Since(c.first))
}

// A pass that a replica cannot follow stands still until it can, keeps its lease
// meanwhile, and then clears the rest.
func TestSweepWaitsForReplicas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.store.fill(sweep.Expired, 20_000)
		w.store.each = time.Millisecond / 10
		var at int
		c := &copies{behind: func(asked time.Duration) (time.Duration, error) {
			if asked < 30*time.Second {
				w.store.set(func() {
					if at == 0 {
						at = len(w.store.sizes)
					}
					if len(w.store.sizes) != at {
						t.Errorf("%d batches were cleared while the replica was behind", len(w.store.sizes)-at)
					}
				})
				return 11 * time.Second, nil
			}
			return 10 * time.Second, nil // as far as it may be
		}}
		w.Copies = c
		r := w.once(t)
		if r.Outcome != sweep.Done || r.Cleared != 20_000 || r.Took() < 30*time.Second {
			t.Errorf("%+v, which took %v", r, r.Took())
		}
		if w.runs.kept < 30 {
			t.Errorf("the lease was kept %d times in %v", w.runs.kept, r.Took())
		}
	})
}

// A pass that would be over before the next question waits, too.
func TestShortPassWaitsForReplicas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.store.fill(sweep.Expired, 4)
		w.Copies = &copies{behind: func(asked time.Duration) (time.Duration, error) { return 11*time.Second - asked, nil }}
		if r := w.once(t); r.Outcome != sweep.Done || r.Cleared != 4 || r.Took() < time.Second {
			t.Errorf("%+v, which took %v; want it to wait for a second", r, r.Took())
		}
	})
}

// One that stays behind ends the pass, which says so; the next goes on from
// there.
func TestReplicaThatStaysBehindEndsAPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.store.fill(sweep.Expired, 20_000)
		w.store.each = time.Millisecond / 10
		c := &copies{behind: func(asked time.Duration) (time.Duration, error) {
			if asked == 0 { // before the pass writes
				return 0, nil
			}
			return 90 * time.Second, nil
		}}
		w.Copies = c
		r := w.once(t)
		if r.Outcome != sweep.Slow || r.Detail != "a replica is behind by 1m30s" || r.Cleared == 0 || r.Took() > 2*time.Minute {
			t.Errorf("%+v, which took %v", r, r.Took())
		}
		w.Copies = nil
		if next := w.once(t); next.Outcome != sweep.Done || r.Cleared+next.Cleared != 20_000 {
			t.Errorf("%d were cleared, and then: %+v", r.Cleared, next)
		}
	})
}

// A replica that is down does not stop the sweep, and is logged once in each
// pass.
func TestDeadReplicaIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.store.fill(sweep.Expired, 20_000)
		w.store.each = time.Millisecond / 10
		c := &copies{behind: func(time.Duration) (time.Duration, error) { return 0, errors.New("connection refused") }}
		w.Copies = c
		r := w.once(t)
		if r.Outcome != sweep.Done || r.Cleared != 20_000 || c.asked < 2 {
			t.Errorf("%+v, asked %d times", r, c.asked)
		}
		if n := w.log.Count("it is not known how far a replica is"); n != 1 {
			t.Errorf("it was logged %d times, want once", n)
		}
	})
}

// Waiting ends with the process.
func TestStopEndsTheWaitForReplicas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.store.fill(sweep.Expired, 20_000)
		w.store.each = time.Millisecond / 10
		w.Copies = &copies{behind: func(time.Duration) (time.Duration, error) { return time.Hour, nil }}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		r, err := w.Once(ctx, audit.Actor{})
		if err != nil || r.Outcome != sweep.Stopped || r.Took() > 6*time.Second {
			t.Errorf("%+v, %v", r, err)
		}
	})
}
