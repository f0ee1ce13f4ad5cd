//go:build unix

package redisworkertest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/idworker/idworkertest"
	"github.com/flakepass/flakepass/idworker/redisworker"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// TestFirstStartWaitsForTheCalm: an empty Redis may be one that forgot.
func TestFirstStartWaitsForTheCalm(t *testing.T) {
	var until []time.Time
	l := &redisworker.Lender{
		Client: single(t, testenv.Redis(t)), Reach: 2 * time.Second, Skew: 100 * time.Millisecond,
		Waiting: func(at time.Time) { until = append(until, at) },
	}
	long := *l
	long.Namespace, long.Reach = "long", time.Hour
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	if g, err := long.Acquire(ctx, time.Second); !errors.Is(err, redisworker.ErrCalm) || ctx.Err() != nil {
		t.Errorf("in less time than the calm takes: %+v, %v, want ErrCalm at once", g, err)
	}
	if len(until) > 0 {
		t.Error("says that it waits, and does not")
	}
	g := acquire(t, l, time.Second)
	if len(until) != 1 || g.From.Before(until[0]) {
		t.Errorf("the range begins at %v, and the calm ends at %v", g.From, until)
	}
	ctx, cancel = context.WithCancel(t.Context())
	l.Namespace, l.Waiting = "another", func(time.Time) { cancel() }
	if g, err := l.Acquire(ctx, time.Second); !errors.Is(err, redisworker.ErrCalm) || !errors.Is(err, context.Canceled) {
		t.Errorf("canceled while it waits: %+v, %v", g, err)
	}
}

// TestNewRangesBeginBehindTheCalm also for a Lender whose clock is behind.
func TestNewRangesBeginBehindTheCalm(t *testing.T) {
	var until time.Time
	l := &redisworker.Lender{
		Client: single(t, testenv.Redis(t)), Reach: 200 * time.Millisecond, Skew: time.Millisecond,
		Now:     func() time.Time { return time.Now().Add(-time.Hour) },
		Waiting: func(at time.Time) { until = at },
	}
	if g := acquire(t, l, time.Millisecond); until.IsZero() || g.From.Before(until) {
		t.Errorf("the range begins at %v, and the calm ends at %v", g.From, until)
	}
}

// TestOnlyIsLostWithTheRecord: another owner may have taken it.
func TestOnlyIsLostWithTheRecord(t *testing.T) {
	r, seven := testenv.Redis(t), 7
	l := settled(t, single(t, r), func(l *redisworker.Lender) { l.Only = &seven })
	g := acquire(t, l, time.Second)
	r.Command("FLUSHALL")
	lost(t, l, g)
}

// TestTwoLosses: a number is lent again after the first calm, and the second
// loss forgets that. The first owner, which has not renewed since, may not go on.
func TestTwoLosses(t *testing.T) {
	r := testenv.Redis(t)
	l := settled(t, single(t, r), with(500*time.Millisecond, 10*time.Millisecond))
	first := acquire(t, l, 400*time.Millisecond)
	r.Command("FLUSHALL")
	if second := acquire(t, l, 400*time.Millisecond); second.Number != first.Number {
		t.Fatalf("got number %d, want %d again", second.Number, first.Number)
	}
	r.Command("FLUSHALL")
	lost(t, l, first)
}

// TestOlderRecordIsNoticed: the same server, not restarted, but
// an old copy was put in place. The grants show it.
func TestOlderRecordIsNoticed(t *testing.T) {
	l := settled(t, single(t, testenv.Redis(t)))
	ctx, key := t.Context(), keyOf(l)
	stays, leaves := acquire(t, l, time.Second), acquire(t, l, time.Second)
	old := l.Client.Dump(ctx, key).Val()
	forget := func() {
		t.Helper()
		if err := l.Client.RestoreReplace(ctx, key, 0, old).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Release(ctx, leaves, leaves.From); err != nil {
		t.Fatal(err)
	}
	comes, newest := acquire(t, l, 2*time.Second), acquire(t, l, time.Second)
	stays, err := l.Extend(ctx, stays, stays.Until.Add(time.Second))
	if err != nil {
		t.Fatal(err)
	}

	forget()
	lost(t, l, comes)
	if !calm(t, l) {
		t.Error("a grant that ends behind the fence of another owner: not noticed")
	}
	forget()
	if _, err := l.Extend(ctx, newest, newest.Until); err != nil {
		t.Error(err)
	}
	if !calm(t, l) {
		t.Error("a grant that began after the calm, under a number that was not lent: not noticed")
	}
	forget()
	var ledger idworkertest.Ledger
	ledger.Lent(stays)
	if stays, err = l.Extend(ctx, stays, stays.From); err != nil {
		t.Fatal(err)
	}
	ledger.Lent(stays)
	if !calm(t, l) {
		t.Error("a grant that ends behind its own fence: not noticed")
	}
	forget()
	if err := l.Release(ctx, stays, stays.Until); err != nil {
		t.Error(err)
	}
	if !calm(t, l) {
		t.Error("given back behind its own fence: not noticed")
	}
	ledger.Lent(acquire(t, l, time.Second))
	if err := ledger.Overlap(); err != nil {
		t.Error(err)
	}
}

// TestWorkersMintOverAFlush: two go on as if nothing had happened, and a third
// that starts meanwhile comes later.
func TestWorkersMintOverAFlush(t *testing.T) {
	t.Parallel()
	r := testenv.Redis(t)
	// So few bits that the test can remember every ID.
	layout := idworker.Layout{Epoch: idworker.Default().Epoch, Unit: time.Millisecond, TimeBits: 47, WorkerBits: 10, SequenceBits: 6}
	l := settled(t, single(t, r))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	minted := make(chan []idworker.ID, 3)
	start := func() *idworker.Worker {
		w, err := idworker.Open(ctx, l, idworker.Options{Layout: layout})
		if err != nil {
			t.Fatal(err)
		}
		go func() { _ = w.Run(ctx) }()
		go func() {
			var all []idworker.ID
			for ctx.Err() == nil {
				if id, err := w.Next(ctx); err == nil {
					all = append(all, id)
				} else if ctx.Err() == nil {
					t.Errorf("next: %v", err)
				}
			}
			minted <- all
		}()
		return w
	}
	one, two := start(), start()
	numbers := [2]int{one.Number(), two.Number()}
	enough := func() {
		began := one.Stats().Minted
		testenv.Eventually(t, soon, func() bool { return one.Stats().Minted > began+50_000 }, "IDs are minted")
	}
	enough()
	r.Command("FLUSHALL")
	enough()
	r.Command("FLUSHALL")
	start() // waits for the calm
	enough()
	if now := [2]int{one.Number(), two.Number()}; now != numbers {
		t.Errorf("the numbers were %v and are %v", numbers, now)
	}
	cancel()
	seen := make(map[idworker.ID]bool)
	for range 3 {
		for _, id := range <-minted {
			if seen[id] {
				t.Fatalf("%v was minted twice", id)
			}
			seen[id] = true
		}
	}
	t.Logf("%d IDs", len(seen))
}
