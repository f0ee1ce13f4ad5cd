package scale

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/sweep"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// marks are the watermarks of the default policy, as the columns have them.
func (d *deployment) marks() (issued, seen int64) {
	rule, now := d.policy(), time.Now()
	return int64(layout.Smallest(rule.For("", "").OldestIssued(now))), rule.For("", "").OldestSeen(now).UnixMilli()
}

// pass sweeps until nothing is stale, most are cleared or the time is over. A
// pass that gives up is followed by another, as it is in a server.
func (d *deployment) pass(t testing.TB, most int, until time.Time) (cleared int) {
	t.Helper()
	store := &sqlstore.Sweeps{DB: d.store}
	early, longest := 0, time.Duration(0)
	for most > cleared && time.Now().Before(until) {
		s := &sweep.Sweeper{
			Store: store, Runs: alone{}, Policy: policy.Fixed(d.policy()), IDs: alone{}, Log: slog.New(slog.DiscardHandler),
			Limits: sweep.Limits{Rows: most - cleared, Time: time.Until(until)},
		}
		if !d.big { // a machine that is busy with other tests is not a database that is slow
			s.Limits.Batch = 2 * time.Second
		}
		r, err := s.Once(t.Context(), audit.Actor{Name: "scale", Via: audit.ViaCLI})
		must(t, err)
		cleared += int(r.Cleared)
		longest = max(longest, r.Longest)
		if r.Outcome == sweep.Done || r.Outcome == sweep.Ceiling {
			if r.FailedRows > 0 {
				t.Errorf("%d rows could not be cleared", r.FailedRows)
			}
			break
		}
		if early++; !d.big || early > 100 {
			t.Fatalf("a pass ended as %s: %s", r.Outcome, r.Detail)
		}
	}
	d.time("sweep: the longest batch", longest)
	if early > 0 {
		d.number("sweep: passes that ended early", float64(early), "")
	}
	return cleared
}

// alone is the lease of a sweep that has no other beside it.
type alone struct{}

func (alone) Take(context.Context, sweep.Report, *audit.Event, time.Duration) (sweep.Cursor, error) {
	return sweep.Cursor{}, nil
}
func (alone) Keep(context.Context, sweep.Report, sweep.Cursor, time.Duration) error { return nil }
func (alone) Finish(context.Context, sweep.Report, sweep.Cursor) error              { return nil }
func (alone) Next(context.Context) (idworker.ID, error)                             { return 1, nil }
func (alone) NextN(_ context.Context, dst []idworker.ID) (int, error)               { return len(dst), nil }

// sweeps measures a pass of the sweep, with requests meanwhile, and
// one statement that does the same. In a big test each has half of what is
// stale: what has expired, and what is idle.
func (d *deployment) sweeps(t testing.TB) {
	t.Helper()
	if d.big {
		d.amid(t, "nothing else", func() { <-time.After(15 * time.Second) })
	}
	stale := d.stale(t)
	most := stale + 1
	if d.big {
		most = d.n / 20
	}
	var cleared int
	var took time.Duration
	var cpu time.Duration
	d.amid(t, "the sweep", func() {
		_, looked := d.counted(t)
		used := d.mysqld(t)
		start := time.Now()
		cleared = d.pass(t, most, start.Add(3*time.Minute))
		took = time.Since(start)
		cpu = d.mysqld(t) - used
		_, lookedAt := d.counted(t)
		d.number("sweep: rows looked at for each cleared", float64(lookedAt-looked)/float64(cleared), "")
	})
	d.number("sweep: rows cleared", float64(cleared), "")
	d.number("sweep: rows cleared per second", float64(cleared)/took.Seconds(), "/s")
	d.time("sweep: took", took)
	each := cpu / time.Duration(cleared)
	d.number("sweep: mysqld's CPU for each row, logins and touches included", float64(each.Microseconds()), "µs")
	if left := d.stale(t); !d.big && (left != 0 || cleared != stale) {
		t.Errorf("the sweep cleared %d of %d stale logins and left %d", cleared, stale, left)
	}
	if !d.big {
		d.mustGoBy(t, "SELECT id, token_id, token_seen_at AS value, ", "range", "users_idle")
		return
	}
	if d.further > 0 {
		return // one UPDATE of one table would leave the other
	}
	issued, seen := d.marks()
	var written int64
	d.amid(t, "one UPDATE", func() {
		used := d.mysqld(t)
		start := time.Now()
		written = execOn(t, d.root, "UPDATE users SET token_floor = token_id, ended_token_id = token_id, ended_token_hash = token_hash, "+
			"ended_reason = 'idle', token_id = NULL, token_hash = NULL, token_seen_at = NULL WHERE token_id <= ? OR token_seen_at <= ?",
			issued, seen)
		took, cpu = time.Since(start), d.mysqld(t)-used
	})
	d.number("one UPDATE: rows cleared", float64(written), "")
	d.number("one UPDATE: rows cleared per second", float64(written)/took.Seconds(), "/s")
	d.time("one UPDATE: took", took)
	d.number("one UPDATE: mysqld's CPU for each row, logins and touches included", float64((cpu / time.Duration(written)).Microseconds()), "µs")
	d.number("sweep: CPU against that of one UPDATE", float64(each)/float64(cpu/time.Duration(written)), "")
}

// amid measures logins and touches while something else goes on. Half of those
// who log in have a stale login, which is what the sweep writes too.
func (d *deployment) amid(t testing.TB, what string, do func()) {
	t.Helper()
	if !d.big {
		do()
		return
	}
	var logins, touches stopwatch
	var all sync.WaitGroup
	stop := make(chan struct{})
	ctx, cancel := withStop(t, nil)
	defer cancel()
	all.Go(func() { // as many as a server of two cores can hash passwords for
		d.steadily(stop, &all, 20*time.Millisecond, &logins, func(k int) error {
			who := d.far(int(d.visits.Add(1))) * 10 // never one who came before
			if k%2 == 0 {
				return d.begin(ctx, who+3)
			}
			return d.begin(ctx, who+6)
		})
	})
	all.Go(func() {
		d.steadily(stop, &all, 100*time.Millisecond, &touches, func(k int) error {
			seen := map[idworker.ID]time.Time{}
			for j := range 50 {
				seen[idworker.ID(d.at(d.far(k*50+j)*10+2).token)] = time.Now()
			}
			_, err := d.sessions.TouchAll(ctx, seen, time.Second)
			return err
		})
	})
	do()
	close(stop)
	all.Wait()
	d.quantiles(fmt.Sprintf("login amid %s", what), &logins)
	d.quantiles(fmt.Sprintf("50 touches amid %s", what), &touches)
}

// steadily starts something at each tick, whether the last one is done or not:
// who comes does not wait for those before.
func (d *deployment) steadily(stop <-chan struct{}, all *sync.WaitGroup, every time.Duration, w *stopwatch, do func(k int) error) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for k := 0; ; k++ {
		select {
		case <-stop:
			return
		case <-tick.C:
			all.Go(func() {
				start := time.Now()
				err := do(k)
				w.note(time.Since(start), err)
			})
		}
	}
}

// withStop is a context that ends with the channel, or with the test.
func withStop(t testing.TB, stop <-chan struct{}) (context.Context, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	if stop != nil {
		go func() {
			select {
			case <-stop:
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	return ctx, cancel
}
