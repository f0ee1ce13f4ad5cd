package sweep_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/sweep"
)

func TestOnceClearsAllStagesOnce(t *testing.T) {
	for _, n := range []int{0, 1, 49, 200, 201, 5000} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			for _, stage := range []sweep.Stage{sweep.Expired, sweep.Revoked, sweep.Idle} {
				w.store.fill(stage, n)
			}
			r := w.once(t)
			if r.Outcome != sweep.Done || r.Cleared != int64(3*n) || len(w.store.cleared) != 3*n || r.FailedRows != 0 {
				t.Errorf("%d of each: %+v", n, r)
			}
			if w.runs.cursor != (sweep.Cursor{}) {
				t.Errorf("the next pass begins at %+v, want the beginning", w.runs.cursor)
			}
		})
	}
}

// Several logins of one millisecond differ by their users.
func TestOnceReadsOnWithinAValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.store.fill(sweep.Idle, 1000)
		for i := range w.store.left[sweep.Idle] {
			w.store.left[sweep.Idle][i].Value, w.store.left[sweep.Idle][i].Row = 5, idworker.ID(i+1)
		}
		if r := w.once(t); r.Cleared != 1000 {
			t.Errorf("cleared %d of 1000 of one millisecond", r.Cleared)
		}
	})
}

func TestOnceAsksByTheWatermarks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policy.Default()
		p.IdleBase = time.Now().Add(-time.Hour)
		w := newWorld()
		w.policy.p = p
		for _, c := range []struct{ own, database time.Duration }{{0, 0}, {400 * 24 * time.Hour, 0}, {0, 400 * 24 * time.Hour}, {-time.Minute, 0}, {0, -time.Minute}} {
			w.Now = func() time.Time { return time.Now().Add(c.own) }
			w.store.clock, w.store.marks = c.database, nil
			w.once(t)
			// A clock that is ahead would clear what lives.
			now := time.Now().Add(min(c.own, c.database))
			want := sweep.MarksOf(now.Add(-p.Absolute), p.IdleBase, 77)
			want.Now = now
			if got := w.store.marks[0]; got != want {
				t.Errorf("clocks off by %v here and %v in the database: marks %+v, want %+v", c.own, c.database, got, want)
			}
		}
	})
}

func TestOnceCountsWhatItClearedBeforeItFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := errors.New("no route")
		w := newWorld()
		w.Limits.Smallest, w.Limits.Largest = 10, 10
		w.store.fill(sweep.Expired, 1000)
		w.store.fail = func(call int) error {
			if call == 3 {
				return down
			}
			return nil
		}
		r := w.once(t)
		if r.Cleared != 20 || r.Outcome != sweep.Failed || strings.Contains(r.Detail, "no route") || r.Detail == "" || w.runs.cursor.Value != 20 {
			t.Errorf("%+v, the next begins at %+v; want 20 cleared, then the failure, and the next behind them", r, w.runs.cursor)
		}
		if r := w.once(t); r.Cleared != 980 || r.Outcome != sweep.Done || !slices.Contains(w.store.looked, 20) {
			t.Errorf("the next: %+v", r)
		}
	})
}

func TestOnceStopsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := newWorld()
		w.Limits.Smallest, w.Limits.Largest = 10, 10
		w.store.fill(sweep.Expired, 1000)
		w.store.fail = func(call int) error {
			if call == 3 {
				cancel()
				return ctx.Err()
			}
			return nil
		}
		r, err := w.Once(ctx, audit.Actor{})
		if err != nil || r.Cleared != 20 || r.Outcome != sweep.Stopped || !w.runs.until.IsZero() {
			t.Errorf("%+v, %v, lease until %v; want 20 cleared, and the lease free", r, err, w.runs.until)
		}
	})
}

func TestCeilingEndsAPassAndTheNextGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.Limits.Rows = 1500
		w.store.fill(sweep.Expired, 2000)
		w.store.fill(sweep.Idle, 1000)
		for _, want := range []struct {
			cleared int64
			outcome sweep.Outcome
		}{{1500, sweep.Ceiling}, {1500, sweep.Ceiling}, {0, sweep.Done}} {
			from := len(w.store.looked)
			at := w.runs.cursor
			if r := w.once(t); r.Cleared != want.cleared || r.Outcome != want.outcome {
				t.Errorf("%+v, want %+v", r, want)
			}
			if w.store.looked[from] != at.Value {
				t.Errorf("a pass looks from %d on, want from the cursor, %+v", w.store.looked[from], at)
			}
		}
		if w.runs.cursor != (sweep.Cursor{}) {
			t.Errorf("after the last, the next begins at %+v", w.runs.cursor)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.store.endless, w.store.each = true, 190*time.Microsecond
		r := w.once(t)
		if r.Outcome != sweep.Ceiling || r.Took() < time.Minute || r.Took() > time.Minute+time.Second {
			t.Errorf("a pass without end took %v and ended as %q, want the ceiling of a minute", r.Took(), r.Outcome)
		}
		if w.runs.kept < 10 {
			t.Errorf("the lease was made longer %d times in a minute", w.runs.kept)
		}
		w.store.endless = false
		from := w.runs.cursor
		if w.once(t); from.Value == 0 || !slices.Contains(w.store.looked, from.Value) {
			t.Errorf("the next began elsewhere than at %+v", from)
		}
	})
}

// A row that refuses is left out, and tried again by each pass: it keeps
// nothing else from being cleared, and is logged once.
func TestPoisonedRowIsIsolated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		all := w.store.fill(sweep.Expired, 1000)
		w.store.fill(sweep.Idle, 10)
		w.store.poison = map[idworker.ID]bool{all[0].Token: true, all[500].Token: true, all[501].Token: true, all[999].Token: true}
		if r := w.once(t); r.Cleared != 1006 || r.FailedRows != 4 || r.Outcome != sweep.Done {
			t.Errorf("%+v, want 1006 cleared and 4 failed", r)
		}
		if r := w.once(t); r.Cleared != 0 || r.FailedRows != 4 || r.Outcome != sweep.Done {
			t.Errorf("the next: %+v, want the 4 to be tried again", r)
		}
		if n := w.log.Count("tries again"); n != 4 {
			t.Errorf("%d lines about 4 rows in two passes", n)
		}
		w.store.poison = nil
		if r := w.once(t); r.Cleared != 4 || r.FailedRows != 0 {
			t.Errorf("cured: %+v", r)
		}
	})
}

// A database in which every row refuses ends a pass soon, and the next one
// looks elsewhere.
func TestTooManyPoisonedRowsEndThePassBehindThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.store.poison = map[idworker.ID]bool{}
		for _, l := range w.store.fill(sweep.Expired, 5000) {
			w.store.poison[l.Token] = true
		}
		w.store.fill(sweep.Idle, 10)
		r := w.once(t)
		if r.Outcome != sweep.Failed || r.FailedRows != 100 || len(w.store.sizes) > 300 || w.runs.cursor.Value == 0 {
			t.Errorf("%+v after %d statements, the next begins at %+v", r, len(w.store.sizes), w.runs.cursor)
		}
		for range 100 {
			if r = w.once(t); r.Outcome == sweep.Done {
				break
			}
		}
		if r.Outcome != sweep.Done || len(w.store.cleared) != 10 {
			t.Errorf("the passes never came to what can be cleared: %+v", r)
		}
	})
}

// Batches grow while they are fast and shrink while they are slow, so that
// no request waits long for a row.
func TestBatchesFollowTheTimeThatTheyTake(t *testing.T) {
	for _, c := range []struct {
		each           time.Duration
		lowest, highst int // size in the end
	}{
		{time.Microsecond, 4000, 4000}, {10 * time.Microsecond, 2000, 4000}, {50 * time.Microsecond, 400, 800},
		{190 * time.Microsecond, 400, 400}, {390 * time.Microsecond, 200, 200},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			w.store.endless, w.store.each = true, c.each
			w.Limits.Time = 2 * time.Second
			r := w.once(t)
			last := w.store.sizes[len(w.store.sizes)-2] // what is left for the very last may be less
			if last < c.lowest || last > c.highst || r.Outcome != sweep.Ceiling {
				t.Errorf("%v a row: %d rows in the end, want %d to %d; %+v", c.each, last, c.lowest, c.highst, r)
			}
			if most := max(80*time.Millisecond, 400*c.each); r.Longest > most {
				t.Errorf("%v a row: the longest batch took %v", c.each, r.Longest)
			}
		})
	}
}

// When even the smallest batches are slow, the pass leaves the database alone
// for longer and longer, and in the end until the next one.
func TestSlowDatabaseEndsAPass(t *testing.T) {
	for _, took := range []time.Duration{110 * time.Millisecond, 4 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			w.Limits.Time = time.Hour
			w.store.fill(sweep.Expired, 5000)
			w.store.more = took
			r := w.once(t)
			if r.Outcome != sweep.Slow || len(w.store.sizes) > 20 || r.Took() < 10*time.Second {
				t.Errorf("batches of %v: %+v after %d", took, r, len(w.store.sizes))
			}
			if w.log.Count("outcome=slow") != 1 {
				t.Error("the log does not say so")
			}
			w.store.more = 0
			if r := w.once(t); r.Outcome != sweep.Done || len(w.store.cleared) != 5000 {
				t.Errorf("the next one does not go on: %+v", r)
			}
		})
	}
}

// One batch that runs into its time limit is tried again, smaller: the pass
// goes on, and nothing is left out.
func TestBatchThatTakesTooLongIsTriedSmaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.store.fill(sweep.Expired, 3000)
		failed := 0
		w.store.fail = func(int) error {
			if size := w.store.sizes[len(w.store.sizes)-1]; size > 300 && failed < 3 {
				failed++
				return context.DeadlineExceeded
			}
			return nil
		}
		if r := w.once(t); r.Cleared != 3000 || r.Outcome != sweep.Done || failed == 0 {
			t.Errorf("%+v after %d batches that took too long", r, failed)
		}
	})
}

func TestEachExpiryHasAnEventIfThatIsWanted(t *testing.T) {
	for _, audit := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			w.Audit = audit
			all := w.store.fill(sweep.Expired, 1001)
			w.store.poison = map[idworker.ID]bool{all[17].Token: true}
			w.once(t)
			seen := map[idworker.ID]bool{}
			for _, id := range w.store.events {
				seen[id] = true
			}
			if want := map[bool]int{true: 1000}[audit]; len(seen) != want || len(w.store.events) != want {
				t.Errorf("wanted %v: %d events with %d IDs for 1000 logins", audit, len(w.store.events), len(seen))
			}
		})
	}
}

func TestProgressIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.store.fill(sweep.Expired, 5000)
		var reported []int64
		w.Progress = func(r sweep.Report) { reported = append(reported, r.Cleared) }
		w.once(t)
		if len(reported) < 4 || !slices.IsSorted(reported) || reported[len(reported)-1] != 5000 {
			t.Errorf("reported %v", reported)
		}
	})
}
