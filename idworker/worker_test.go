package idworker_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/idworker"
)

func open(t testing.TB, l idworker.Lender, o idworker.Options) *idworker.Worker {
	t.Helper()
	w, err := idworker.Open(t.Context(), l, o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func next(t testing.TB, w *idworker.Worker) idworker.ID {
	t.Helper()
	id, err := w.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestTimeOfAnIDIsTheTimeOfItsMinting(t *testing.T) {
	for _, layout := range []idworker.Layout{
		idworker.Default(), twitter(), tenMillis(), baidu(), idworker.Sonyflake(), idworker.Baidu(),
	} {
		synctest.Test(t, func(t *testing.T) {
			// The bubble's clock begins in 2000.
			start := time.Now()
			now := func() time.Time { return layout.Epoch.Add(time.Hour + time.Since(start)) }
			s := newStore(2)
			s.now = now
			w := open(t, s, idworker.Options{Layout: layout, Now: now})
			for range 100_000 {
				before := now()
				p := layout.Decompose(next(t, w))
				if p.Time.Add(layout.Unit).Before(before) || p.Time.After(now().Add(idworker.Lead)) {
					t.Fatalf("minted between %v and %v, and says %v", before, now(), p.Time)
				}
			}
			// A burst uses up the lead; then minting keeps to the clock.
			capacity := float64(int(1) << layout.SequenceBits)
			least := time.Duration((100_000/capacity-1)*float64(layout.Unit)) - idworker.Lead
			if took := time.Since(start); took < least || took > 3*least+3*layout.Unit {
				t.Errorf("100000 IDs took %v, want about %v", took, least)
			}
		})
	}
}

func TestSequenceKeepsTurningAtLowRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, newStore(1), idworker.Options{Layout: twentieth()})
		var classes [16]int
		for range 800 {
			time.Sleep(3 * time.Millisecond) //nolint:forbidigo // of the bubble's clock
			classes[next(t, w)%16]++
		}
		for class, n := range classes {
			if n != 50 {
				t.Errorf("%d IDs in class %d of 16, want 50", n, class)
			}
		}
	})
}

// twentieth is the default layout for the clock of a bubble, which begins in
// 2000.
func twentieth() idworker.Layout {
	l := idworker.Default()
	l.Epoch = time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)
	return l
}

func TestRestartGoesOnBehindTheFence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(1)
		w := open(t, s, idworker.Options{Layout: twentieth()})
		last := next(t, w)
		if err := w.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, want := s.fence(0), twentieth().UnixMilli(last)+1; got != want {
			t.Errorf("closed with the fence at %d, want %d, just behind the last ID", got, want)
		}
		for range 20 { // lives that close mint without a wait
			start := time.Now()
			w := open(t, s, idworker.Options{Layout: twentieth()})
			id := next(t, w)
			if id <= last {
				t.Fatalf("%d after %d", id, last)
			}
			last = id
			if time.Since(start) > idworker.Lead+time.Millisecond {
				t.Errorf("the first ID took %v", time.Since(start))
			}
			if err := w.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestNextAfterExceedsTheFloor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := twentieth()
		w := open(t, newStore(1), idworker.Options{Layout: l})
		for _, ahead := range []time.Duration{-time.Hour, 0, 9 * time.Millisecond, time.Second, 5 * time.Second} {
			start := time.Now()
			floor := l.Smallest(start.Add(ahead+time.Millisecond)) - 1
			id, err := w.NextAfter(t.Context(), floor)
			if err != nil || id <= floor {
				t.Errorf("floor %v ahead: %d, %v, want above %d", ahead, id, err, floor)
			}
			if slept := time.Since(start); slept > max(0, ahead) {
				t.Errorf("floor %v ahead: slept %v", ahead, slept)
			}
			if l.Time(id).After(time.Now().Add(idworker.Lead)) {
				t.Errorf("floor %v ahead: minted %v ahead", ahead, time.Until(l.Time(id)))
			}
		}
		for _, floor := range []idworker.ID{l.Smallest(time.Now().Add(6 * time.Second)), math.MaxInt64} {
			start := time.Now()
			if id, err := w.NextAfter(t.Context(), floor); !errors.Is(err, idworker.ErrTooFarAhead) {
				t.Errorf("floor %d: %d, %v, want ErrTooFarAhead", floor, id, err)
			}
			if time.Since(start) > idworker.Lead {
				t.Errorf("refused only after %v", time.Since(start))
			}
		}
	})
}

// TestWaitingForAFloorDelaysNoOtherCall mints beside a call that sleeps.
func TestWaitingForAFloorDelaysNoOtherCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := twentieth()
		w := open(t, newStore(1), idworker.Options{Layout: l})
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := w.NextAfter(t.Context(), l.Smallest(time.Now().Add(4*time.Second))); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		start := time.Now()
		id := next(t, w)
		if time.Since(start) > 0 || l.Time(id).After(start.Add(idworker.Lead)) {
			t.Errorf("took %v and minted %v ahead", time.Since(start), l.Time(id).Sub(start))
		}
		wg.Wait()
	})
}

func TestContextEndsAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := twentieth()
		w := open(t, newStore(1), idworker.Options{Layout: l})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		_, err := w.NextAfter(ctx, l.Smallest(start.Add(4*time.Second)))
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

func TestFenceFarAheadIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(1)
		s.seats[0].fence = time.Now().Add(time.Hour).UnixMilli() // the clock was set back
		if _, err := idworker.Open(t.Context(), s, idworker.Options{Layout: twentieth()}); !errors.Is(err, idworker.ErrTooFarAhead) {
			t.Errorf("got %v, want ErrTooFarAhead", err)
		}
		if s.seats[0].token != "" {
			t.Error("the number was not given back")
		}
		s.seats[0].fence = time.Now().Add(3 * time.Second).UnixMilli() // killed within its window
		start := time.Now()
		next(t, open(t, s, idworker.Options{Layout: twentieth()}))
		if took := time.Since(start); took != 3*time.Second-idworker.Lead {
			t.Errorf("the first ID took %v", took)
		}
	})
}

// TestRefusedOpenLeavesTheFence: a process that is started again and again is let in when the clock
// has reached the fence, whatever the unit is.
func TestRefusedOpenLeavesTheFence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(1)
		fence := time.Now().Add(time.Minute).UnixMilli()
		s.seats[0].fence = fence
		for range 100 {
			if _, err := idworker.Open(t.Context(), s, idworker.Options{Layout: baidu()}); !errors.Is(err, idworker.ErrTooFarAhead) {
				t.Fatal(err)
			}
		}
		if got := s.fence(0); got != fence {
			t.Errorf("the fence moved by %d ms", got-fence)
		}
	})
}

func TestLayoutEndsWithoutWrapping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := idworker.Layout{
			Epoch: time.Now().Add(-1<<20*time.Millisecond + time.Second), Unit: time.Millisecond,
			TimeBits: 20, WorkerBits: 31, SequenceBits: 12,
		}
		w := open(t, newStore(1), idworker.Options{Layout: l})
		ran := make(chan error, 1)
		go func() { ran <- w.Run(t.Context()) }()
		var last idworker.ID
		for {
			id, err := w.Next(t.Context())
			if err != nil {
				if !errors.Is(err, idworker.ErrExhausted) {
					t.Errorf("got %v, want ErrExhausted", err)
				}
				break
			}
			if id <= last {
				t.Fatalf("%d after %d", id, last)
			}
			last = id
		}
		if want := l.Overflow().Add(-l.Unit); !l.Time(last).Equal(want) {
			t.Errorf("the last ID is of %v, want %v", l.Time(last), want)
		}
		if err := <-ran; !errors.Is(err, idworker.ErrExhausted) {
			t.Errorf("Run: %v, want ErrExhausted", err)
		}
		time.Sleep(time.Second) //nolint:forbidigo // of the bubble's clock
		if _, err := idworker.Open(t.Context(), newStore(1), idworker.Options{Layout: l}); !errors.Is(err, idworker.ErrExhausted) {
			t.Errorf("Open after the end: %v, want ErrExhausted", err)
		}
	})
}

func TestNextAllocatesNothing(t *testing.T) {
	w := open(t, newStore(1), idworker.Options{})
	ctx := t.Context()
	if n := testing.AllocsPerRun(1000, func() { _, _ = w.Next(ctx) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
