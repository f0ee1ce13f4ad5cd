//nolint:forbidigo // every Sleep is in a synctest bubble, where time is the test's own
package layer_test

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/store/layer"
)

func TestTouchesOfOneSessionBecomeOneWrite(t *testing.T) {
	w := &writer{}
	tier := open(w)
	at := time.UnixMilli(1_800_000_000_000)
	for _, d := range []time.Duration{0, 3, 1, 2} { // the latest wins, whatever the order
		touch(t, tier, 7, at.Add(d*time.Second))
	}
	touch(t, tier, 8, at)
	if err := tier.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.want(t, map[idworker.ID]time.Time{7: at.Add(3 * time.Second), 8: at})
	if err := tier.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if w.calls != 1 {
		t.Errorf("%d writes, want 1: nothing had gathered for a second", w.calls)
	}
}

func TestWriterGetsTheTouchInterval(t *testing.T) {
	w := &writer{}
	p := policy.Default()
	p.Touch = 17 * time.Second
	tier := layer.NewWriteBehind(nil, layer.WriteBehindOptions{To: w, Policy: policy.Fixed(p), Log: slog.New(slog.DiscardHandler)})
	touch(t, tier, 7, time.Now())
	if err := tier.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if w.gap != p.Touch {
		t.Errorf("gap %v, want %v", w.gap, p.Touch)
	}
}

// TestWhatTheRowsSayIsPassedOn: a tier that remembers a session gets what its row says,
// and that a use was refused. A row that somebody else holds is tried again.
func TestWhatTheRowsSayIsPassedOn(t *testing.T) {
	at := time.UnixMilli(1_800_000_000_000)
	w := &writer{refuses: map[idworker.ID]bool{8: true}, held: map[idworker.ID]bool{9: true}}
	told := map[idworker.ID]time.Time{}
	tier := layer.NewWriteBehind(nil, layer.WriteBehindOptions{
		To: w, Policy: policy.Fixed(policy.Default()), Log: slog.New(slog.DiscardHandler),
		Written: func(id idworker.ID, seen time.Time) { told[id] = seen },
	})
	flush := func() {
		t.Helper()
		if err := tier.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	w.seen = map[idworker.ID]time.Time{7: at.Add(time.Hour)} // by another instance
	for id := range idworker.ID(3) {
		touch(t, tier, 7+id, at)
	}
	flush()
	if want := map[idworker.ID]time.Time{7: at.Add(time.Hour), 8: {}}; !maps.EqualFunc(told, want, time.Time.Equal) {
		t.Errorf("told %v, want %v", told, want)
	}
	w.held = nil
	flush()
	if !told[9].Equal(at) {
		t.Errorf("of a row that was held: told %v, want %v", told[9], at)
	}
}

func TestRunWritesAtMostOncePerInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &writer{}
		tier := open(w)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { tier.Run(ctx, time.Second) })
		for range 100 { // touched for ten seconds, ten times a second
			touch(t, tier, 7, time.Now())
			time.Sleep(100 * time.Millisecond)
		}
		synctest.Wait()
		if w.calls < 9 || w.calls > 11 {
			t.Errorf("%d writes in 10s, want one a second", w.calls)
		}
		cancel()
		running.Wait()
	})
}

func TestFailingWriterLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		w := &writer{err: errors.New("no route")}
		tier := layer.NewWriteBehind(nil, layer.WriteBehindOptions{To: w, Policy: policy.Fixed(policy.Default()), Log: slog.New(slog.NewTextHandler(&log, nil))})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { tier.Run(ctx, time.Second) })
		at := time.Now()
		touch(t, tier, 7, at.Add(5*time.Second))
		touch(t, tier, 8, at)
		// While the write is under way: one session anew, one later, and one with
		// a time from before.
		w.set(w.err, func() {
			touch(t, tier, 7, at.Add(4*time.Second))
			touch(t, tier, 8, at.Add(time.Second))
			touch(t, tier, 9, at)
		})
		time.Sleep(3500 * time.Millisecond)
		synctest.Wait()
		if w.calls != 3 {
			t.Errorf("%d tries in 3.5s, want 3", w.calls)
		}
		if n := strings.Count(log.String(), "not written"); n != 1 {
			t.Errorf("%d log lines for a row of failures, want 1:\n%s", n, log.String())
		}
		w.set(nil, nil)
		time.Sleep(time.Second)
		synctest.Wait()
		w.want(t, map[idworker.ID]time.Time{7: at.Add(5 * time.Second), 8: at.Add(time.Second), 9: at})
		cancel()
		running.Wait()
	})
}

func TestEndOfRunWritesWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &writer{}
		tier := open(w)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { tier.Run(ctx, time.Hour) })
		at := time.Now()
		touch(t, tier, 7, at)
		cancel()
		running.Wait()
		w.want(t, map[idworker.ID]time.Time{7: at})
	})
}

func TestEndOfRunWaitsOnlySoLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &writer{hang: true}
		tier := open(w)
		ctx, cancel := context.WithCancel(t.Context())
		touch(t, tier, 7, time.Now())
		cancel()
		began := time.Now()
		tier.Run(ctx, time.Hour)
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("Run ended after %v, want at most 3s", took)
		}
	})
}

func TestPendingIsBounded(t *testing.T) {
	w := &writer{err: errors.New("no route")}
	tier := open(w)
	const limit, more = 1 << 20, 1000
	at := time.UnixMilli(1_800_000_000_000)
	fill := func(from, n int) {
		for i := range n {
			_ = tier.Touch(t.Context(), idworker.ID(from+i+1), at)
		}
	}
	fill(0, limit+more)
	touch(t, tier, 1, at.Add(time.Hour))    // one that is known still moves on
	w.during = func() { fill(1<<30, more) } // under load, while the write fails
	if err := tier.Flush(t.Context()); err == nil {
		t.Fatal("Flush: no error")
	}
	w.err, w.during = nil, nil
	if err := tier.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(w.seen) != limit {
		t.Errorf("%d sessions had gathered, want %d", len(w.seen), limit)
	}
	n := 0
	for id := range w.seen {
		if id > limit {
			n++
		}
	}
	if n != more {
		t.Errorf("%d of the newest %d were kept", n, more)
	}
}

func TestConcurrentTouchAndFlush(t *testing.T) {
	w := &writer{}
	tier := open(w)
	at := time.UnixMilli(1_800_000_000_000)
	var all sync.WaitGroup
	for k := range 8 {
		all.Go(func() {
			for i := range 1000 {
				touch(t, tier, idworker.ID(i%50+1), at.Add(time.Duration(i*8+k)*time.Second))
				if i%100 == 0 {
					if err := tier.Flush(t.Context()); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
	if err := tier.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for id := range idworker.ID(50) {
		if want := at.Add(time.Duration((950+int(id))*8+7) * time.Second); !w.seen[id+1].Equal(want) {
			t.Errorf("%v: written %v, want %v", id+1, w.seen[id+1], want)
		}
	}
}

func open(w layer.Writer) *layer.WriteBehind {
	return layer.NewWriteBehind(nil, layer.WriteBehindOptions{To: w, Policy: policy.Fixed(policy.Default()), Log: slog.New(slog.DiscardHandler)})
}

func touch(t *testing.T, tier *layer.WriteBehind, id idworker.ID, at time.Time) {
	t.Helper()
	if err := tier.Touch(t.Context(), id, at); err != nil {
		t.Fatalf("Touch: %v", err)
	}
}

// A writer keeps the latest time of each session, as a database does.
type writer struct {
	err    error
	hang   bool
	during func()

	mu    sync.Mutex
	calls int
	seen  map[idworker.ID]time.Time
	gap   time.Duration

	refuses, held map[idworker.ID]bool
}

func (w *writer) TouchAll(ctx context.Context, seen map[idworker.ID]time.Time, gap time.Duration) (map[idworker.ID]time.Time, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.during != nil {
		w.during()
	}
	if w.hang {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	w.calls++
	if w.err != nil {
		return nil, w.err
	}
	if w.seen == nil {
		w.seen = map[idworker.ID]time.Time{}
	}
	rows := make(map[idworker.ID]time.Time)
	for id, at := range seen {
		switch {
		case w.held[id]:
		case w.refuses[id]:
			rows[id] = time.Time{}
		default:
			if at.After(w.seen[id]) {
				w.seen[id] = at
			}
			rows[id] = w.seen[id]
		}
	}
	w.gap = gap
	return rows, nil
}

func (w *writer) set(err error, during func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err, w.during = err, during
}

func (w *writer) want(t *testing.T, want map[idworker.ID]time.Time) {
	t.Helper()
	if !maps.EqualFunc(w.seen, want, time.Time.Equal) {
		t.Errorf("written %v, want %v", w.seen, want)
	}
}
