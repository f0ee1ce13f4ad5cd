//nolint:forbidigo // every Sleep is in a synctest bubble, where time is the test's own
package sweep_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/sweep"
)

// TestSearchThatTakesTooLongStopsNothing: what is over is cleared by each pass, also while the
// search for users with too many sessions never comes to its end, and so is what is thrown
// away after a pass.
func TestSearchThatTakesTooLongStopsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		asked, after := []int{}, 0
		w.After = func(context.Context) { after++ }
		w.store.reduce = func(_ context.Context, from sweep.Walk, rows int) (sweep.Walk, int, error) {
			asked = append(asked, rows)
			time.Sleep(3 * time.Second)
			return from, 1, context.DeadlineExceeded
		}
		for pass := range 3 {
			w.store.fill(sweep.Expired, 10)
			if r := w.once(t); r.Outcome != sweep.Ceiling || r.Cleared < 11 || w.runs.cursor != (sweep.Cursor{}) {
				t.Errorf("pass %d: %+v, the next begins at %+v; want it to clear what is over, and to end at its ceiling", pass, r, w.runs.cursor)
			}
		}
		if after != 3 {
			t.Errorf("what follows a pass was done %d times", after)
		}
		if len(asked) < 5 || asked[1] >= asked[0] || asked[2] >= asked[1] || slices.Contains(asked, 0) {
			t.Errorf("asked for %v rows", asked)
		}
	})
}

// TestSearchIsNoSlowDatabase: the time of a call is that of many small changes.
func TestSearchIsNoSlowDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.store.reduce = func(_ context.Context, from sweep.Walk, _ int) (sweep.Walk, int, error) {
			time.Sleep(200 * time.Millisecond)
			from.After++
			from.Done = from.After == 60
			return from, 100, nil
		}
		if r := w.once(t); r.Outcome != sweep.Done || r.Cleared != 6000 {
			t.Errorf("%+v", r)
		}
		w.store.reduce = func(_ context.Context, from sweep.Walk, _ int) (sweep.Walk, int, error) {
			time.Sleep(10 * time.Millisecond)
			from.After++
			return from, 0, nil
		}
		w.runs.kept = 0
		if r := w.once(t); r.Outcome != sweep.Ceiling || w.runs.kept < 10 {
			t.Errorf("%+v, the lease was made longer %d times while nothing was found", r, w.runs.kept)
		}
		asked := sweep.Walk{}
		w.store.reduce = func(_ context.Context, from sweep.Walk, _ int) (sweep.Walk, int, error) {
			asked = from
			return sweep.Walk{Done: true}, 0, nil
		}
		if w.once(t); asked.After == 0 {
			t.Error("the next pass does not go on where the search was")
		}
	})
}

// TestSearchGoesOnBehindAUserWhoRefuses, who is counted, and logged once.
func TestSearchGoesOnBehindAUserWhoRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.store.reduce = func(_ context.Context, from sweep.Walk, _ int) (sweep.Walk, int, error) {
			from.After += 10
			if from.After == 20 {
				return from, 3, fmt.Errorf("trigger: %w", sweep.ErrUnclearable)
			}
			from.Done = from.After == 50
			return from, 3, nil
		}
		for range 2 {
			if r := w.once(t); r.Outcome != sweep.Done || r.Cleared != 15 || r.FailedRows != 1 {
				t.Errorf("%+v, want 15 ended and one user who refuses", r)
			}
		}
		if n := w.log.Count("user_id=20"); n != 1 {
			t.Errorf("%d lines about one user in two passes: %s", n, w.log)
		}
		w.store.reduce = func(_ context.Context, from sweep.Walk, _ int) (sweep.Walk, int, error) {
			from.After++
			return from, 0, sweep.ErrUnclearable
		}
		if r := w.once(t); r.Outcome != sweep.Failed || r.FailedRows != 100 {
			t.Errorf("%+v, want it to give up", r)
		}
		w.store.reduce = func(_ context.Context, from sweep.Walk, _ int) (sweep.Walk, int, error) {
			if from.After != idworker.ID(100) {
				t.Errorf("the next pass goes on at %+v, want it behind them", from)
			}
			return sweep.Walk{Done: true}, 0, nil
		}
		w.once(t)
	})
}
