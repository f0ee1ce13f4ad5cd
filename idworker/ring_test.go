package idworker_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/idworker"
)

func newRing(t testing.TB, w *idworker.Worker, o idworker.RingOptions) *idworker.Ring {
	t.Helper()
	r, err := idworker.NewRing(w, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// slots64 has 64 sequences in a millisecond: small rings are drained and filled
// all the time, which is where takers and fillers meet.
func slots64() idworker.Layout {
	return idworker.Layout{
		Epoch: idworker.Default().Epoch, Unit: time.Millisecond, TimeBits: 47, WorkerBits: 10, SequenceBits: 6,
	}
}

// TestRingTakesNothingTwiceAndRefusesNoCall also holds the order: an ID taken
// after another call has returned is larger.
func TestRingTakesNothingTwiceAndRefusesNoCall(t *testing.T) {
	for name, o := range map[string]idworker.RingOptions{
		"alone":    {},
		"padded":   {Threshold: 90},
		"replaced": {Boost: 2, Every: time.Millisecond, Full: idworker.FullReplace},
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t, newStore(1), idworker.Options{Layout: slots64(), Clock: idworker.ClockIgnore})
			r := newRing(t, w, o)
			ran := make(chan error, 1)
			ctx, cancel := context.WithCancel(t.Context())
			if name == "alone" {
				ran <- context.Canceled
			} else {
				go func() { ran <- r.Run(ctx) }()
			}
			all := crowd(t, 16, time.Now().Add(time.Second/3), func(int) func() ([]idworker.ID, error) {
				return func() ([]idworker.ID, error) { return single(r.Next(t.Context())) }
			})
			cancel()
			if err := <-ran; !errors.Is(err, context.Canceled) {
				t.Errorf("Run: %v", err)
			}
			t.Logf("%d IDs", len(all))
			noneTwice(t, all)
		})
	}
}

func TestRingWithoutRunRefusesOnlyIfAskedTo(t *testing.T) {
	w := open(t, newStore(1), idworker.Options{})
	if id, err := newRing(t, w, idworker.RingOptions{Empty: idworker.EmptyRefuse}).Next(t.Context()); !errors.Is(err, idworker.ErrRingEmpty) {
		t.Errorf("got %d, %v, want ErrRingEmpty", id, err)
	}
	r := newRing(t, w, idworker.RingOptions{})
	var last idworker.ID
	for range 1000 {
		id, err := r.Next(t.Context())
		if err != nil || id <= last {
			t.Fatalf("%d after %d, %v", id, last, err)
		}
		last = id
	}
}

func TestRingIsFilledBelowItsThreshold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, newStore(1), idworker.Options{Layout: layoutNow(slots64())})
		r := newRing(t, w, idworker.RingOptions{Boost: 1, Threshold: 25, Empty: idworker.EmptyRefuse})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = r.Run(ctx) }()
		settle := func(want int) {
			t.Helper()
			time.Sleep(time.Second) //nolint:forbidigo // of the bubble's clock
			if got := r.Len(); got != want {
				t.Fatalf("%d in the ring, want %d", got, want)
			}
		}
		take := func(n int) {
			t.Helper()
			for range n {
				if _, err := r.Next(ctx); err != nil {
					t.Fatal(err)
				}
			}
		}
		settle(128)
		take(96)
		settle(32) // a quarter is not below a quarter
		for range 3 {
			take(1)
			settle(128)
			take(96)
		}
	})
}

func TestRingOnScheduleKeepsOrReplacesWhatIsOld(t *testing.T) {
	for full, oldest := range map[idworker.RingFull]time.Duration{
		idworker.FullKeep: time.Hour, idworker.FullReplace: time.Minute,
	} {
		synctest.Test(t, func(t *testing.T) {
			l := layoutNow(slots64())
			w := open(t, newStore(1), idworker.Options{Layout: l})
			r := newRing(t, w, idworker.RingOptions{Boost: 3, Every: time.Minute, Full: full})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() { _ = r.Run(ctx) }()
			time.Sleep(time.Hour + time.Second) //nolint:forbidigo // of the bubble's clock
			if n := r.Len(); n != 512 {
				t.Errorf("policy %d: %d in the ring, want all 512", full, n)
			}
			id, err := r.Next(ctx)
			if age := time.Since(l.Time(id)); err != nil || age > oldest+2*time.Second || age < oldest-time.Minute {
				t.Errorf("policy %d: the oldest is of %v ago, want %v: %v", full, age, oldest, err)
			}
			for range 2000 { // three times around
				last := id
				if id, err = r.Next(ctx); err != nil || id <= last {
					t.Fatalf("policy %d: %d after %d, %v", full, id, last, err)
				}
			}
		})
	}
}

// TestRingSurvivesAnOutage: a failure of the filler does not end the filling.
func TestRingSurvivesAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(1)
		w := open(t, s, idworker.Options{Layout: layoutNow(slots64())})
		r := newRing(t, w, idworker.RingOptions{Empty: idworker.EmptyRefuse})
		ran := make(chan error, 1)
		go func() { ran <- r.Run(t.Context()) }()
		time.Sleep(time.Second) //nolint:forbidigo // of the bubble's clock
		s.fail(errStore)
		for range 64 {
			if _, err := r.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute) //nolint:forbidigo // of the bubble's clock
		if _, err := r.Next(t.Context()); !errors.Is(err, idworker.ErrRingEmpty) {
			t.Errorf("in the outage: %v", err)
		}
		s.fail(nil)
		time.Sleep(2 * time.Second) //nolint:forbidigo // of the bubble's clock
		if n := r.Len(); n != 64 {
			t.Errorf("%d in the ring after the outage, want 64", n)
		}
		if err := w.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-ran; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func TestRingOptionsThatDoNotExistAreRefused(t *testing.T) {
	w := open(t, newStore(1), idworker.Options{})
	for name, o := range map[string]idworker.RingOptions{
		"too large": {Boost: 13}, "wraps": {Boost: 250}, "threshold": {Threshold: 101}, "negative": {Threshold: -1},
		"schedule": {Every: -1}, "full": {Full: 2}, "empty": {Empty: 2},
	} {
		if _, err := idworker.NewRing(w, o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestRingAllocatesNothing(t *testing.T) {
	r := newRing(t, open(t, newStore(1), idworker.Options{}), idworker.RingOptions{})
	ctx := t.Context()
	if n := testing.AllocsPerRun(2000, func() { _, _ = r.Next(ctx) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkRing(b *testing.B) {
	for _, callers := range []int{1, 16} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			w := open(b, newStore(1), idworker.Options{Clock: idworker.ClockIgnore})
			r := newRing(b, w, idworker.RingOptions{Boost: 3})
			go func() { _ = r.Run(b.Context()) }()
			benchNext(b, r, callers)
		})
	}
}
