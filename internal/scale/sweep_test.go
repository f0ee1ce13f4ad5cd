package scale

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/policy"
	"github.com/flakepass/flakepass/internal/sweep"
)

// marks are the watermarks of the default policy, as the columns have them.
func (d *deployment) marks() (issued, seen int64) {
	rule, now := policy.Default(), time.Now()
	return int64(layout.Smallest(rule.OldestIssued(now))), rule.OldestSeen(now).UnixMilli()
}

// pass sweeps until nothing is stale or the time is over, and returns how many
// logins were cleared. A pass that fails is followed by another, as it is in a
// server.
func (d *deployment) pass(t testing.TB, until time.Time) (cleared int) {
	t.Helper()
	s := &sweep.Sweeper{Store: &limited{d.sessions, until}, Policy: policy.Fixed(policy.Default())}
	failed := 0
	for {
		n, err := s.Once(t.Context())
		cleared += n
		if err == nil {
			break
		}
		if failed++; !d.big || failed > 100 {
			t.Fatal(err)
		}
	}
	if failed > 0 {
		d.number("sweep: passes that a batch of more than 3 s stopped", float64(failed), "")
	}
	return cleared
}

// limited has nothing left to sweep when its time is over.
type limited struct {
	sweep.Store
	until time.Time
}

func (l *limited) Sweep(ctx context.Context, issued, seen time.Time, limit int) (int, error) {
	if time.Now().After(l.until) {
		return 0, nil
	}
	return l.Store.Sweep(ctx, issued, seen, limit)
}

// sweeps measures a pass of the sweep over all that is stale, with people at the
// door meanwhile, and then the one statement that would do the same.
func (d *deployment) sweeps(t testing.TB) {
	t.Helper()
	if d.big {
		d.amid(t, "nothing else", func() { <-time.After(15 * time.Second) })
	}
	stale := d.stale(t)
	var cleared int
	var took time.Duration
	d.amid(t, "the sweep", func() {
		_, looked := d.asked(t)
		start := time.Now()
		cleared = d.pass(t, start.Add(6*time.Minute))
		took = time.Since(start)
		_, lookedAt := d.asked(t)
		d.number("sweep: rows looked at for each cleared", float64(lookedAt-looked)/float64(cleared), "")
	})
	d.number("sweep: rows cleared", float64(cleared), "")
	d.number("sweep: rows cleared per second", float64(cleared)/took.Seconds(), "/s")
	d.time("sweep: took", took)
	if left := d.stale(t); !d.big && (left != 0 || cleared != stale) {
		t.Errorf("the sweep cleared %d of %d stale logins and left %d", cleared, stale, left)
	} else if left > 0 {
		d.number("sweep: rows left when the time was over", float64(left), "")
	}
	if !d.big {
		d.mustGoBy(t, "SELECT id FROM users WHERE token_seen_at <=", "range", "users_token_seen_at")
		return
	}
	d.revive(t)
	issued, seen := d.marks()
	var written int64
	d.amid(t, "one UPDATE", func() {
		start := time.Now()
		written = execOn(t, d.root, "UPDATE users SET token_floor = token_id, ended_token_id = token_id, ended_token_hash = token_hash, "+
			"ended_reason = 'expired', token_id = NULL, token_hash = NULL, token_seen_at = NULL WHERE token_id <= ? OR token_seen_at <= ?",
			issued, seen)
		took = time.Since(start)
	})
	d.number("one UPDATE: rows cleared", float64(written), "")
	d.number("one UPDATE: rows cleared per second", float64(written)/took.Seconds(), "/s")
	d.time("one UPDATE: took", took)
}

// revive gives those whom the sweep cleared their stale logins back.
func (d *deployment) revive(t testing.TB) {
	t.Helper()
	defer d.withoutRedo(t)()
	step := d.n / 50
	for from := 0; from < d.n; from += step {
		execOn(t, d.root, "UPDATE users SET token_id = ended_token_id, token_hash = ended_token_hash, "+
			"token_seen_at = CASE ended_reason WHEN 'idle' THEN ? ELSE ? END, token_floor = 0, "+
			"ended_token_id = NULL, ended_token_hash = NULL, ended_reason = NULL "+
			"WHERE id BETWEEN ? AND ? AND token_id IS NULL AND ended_reason IN ('idle', 'expired')",
			d.now.Add(-15*day).UnixMilli(), d.now.Add(-10*day).UnixMilli(), d.at(from).id, d.at(from+step-1).id)
	}
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
			return d.begin(ctx, d.far(k)*10+3+k%2*3)
		})
	})
	all.Go(func() {
		d.steadily(stop, &all, 100*time.Millisecond, &touches, func(k int) error {
			seen := map[idworker.ID]time.Time{}
			for j := range 50 {
				seen[idworker.ID(d.at(d.far(k*50+j)*10+2).token)] = time.Now()
			}
			return d.sessions.TouchAll(ctx, seen, time.UnixMilli(0), time.Second)
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
