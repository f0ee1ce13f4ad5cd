package idworker_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/idworker"
)

// A tape is a Recorder that keeps everything.
type tape struct {
	mu      sync.Mutex
	waits   []time.Duration
	steps   []time.Duration
	renewed []error
	last    idworker.Stats
}

func (t *tape) Waited(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waits = append(t.waits, d)
}

func (t *tape) SteppedBack(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.steps = append(t.steps, d)
}

func (t *tape) Renewed(s idworker.Stats, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.renewed, t.last = append(t.renewed, err), s
}

func TestMintedCountsWhatWasReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := twentieth()
		s := newStore(2)
		s.any = rand.New(rand.NewPCG(3, 3)) // a number is to be had, stolen or not
		w := open(t, s, idworker.Options{Layout: l})
		if n := w.Stats().Minted; n != 0 {
			t.Errorf("%d minted by a new worker", n)
		}
		want := uint64(0)
		for n := range 300 {
			switch n % 6 {
			case 0:
				time.Sleep(7 * time.Millisecond) //nolint:forbidigo // of the bubble's clock
			case 1:
				if _, err := w.NextAfter(t.Context(), l.Smallest(time.Now().Add(30*time.Millisecond))); err != nil {
					t.Fatal(err)
				}
				want++
			case 2: // waits too long for what it has taken
				ctx, cancel := context.WithTimeout(t.Context(), time.Microsecond)
				for {
					if _, err := w.Next(ctx); err != nil {
						break
					}
					want++
				}
				cancel()
			case 3:
				if n%30 == 3 {
					s.steal()
				}
			default:
				next(t, w)
				want++
			}
			if got := w.Stats().Minted; got != want {
				t.Fatalf("step %d: %d minted by the count, and %d by hand", n, got, want)
			}
		}
		if err := w.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			_, _ = w.Next(t.Context())
		}
		if got := w.Stats().Minted; got != want {
			t.Errorf("closed: %d minted by the count, and %d by hand", got, want)
		}
	})
}

// TestMintedNeverCountsWhatWasSkipped: a count during a move of the word does not
// include the values that the move skips.
func TestMintedNeverCountsWhatWasSkipped(t *testing.T) {
	var passed atomic.Int64
	begin := time.Now()
	s := newStore(1)
	// Each ID is minted in a millisecond of its own, after a move.
	s.now = func() time.Time { return begin.Add(time.Duration(passed.Load())) }
	w := open(t, s, idworker.Options{Window: 4 * time.Second, Now: func() time.Time {
		return begin.Add(time.Duration(passed.Load()))
	}})
	const ids = 100_000
	var wg sync.WaitGroup
	wg.Go(func() {
		for range ids {
			passed.Add(int64(time.Millisecond))
			if _, err := w.Next(t.Context()); err != nil {
				t.Error(err)
				break
			}
		}
		passed.Store(-1)
	})
	for passed.Load() >= 0 {
		if n := w.Stats().Minted; n > ids {
			t.Errorf("%d minted, of %d", n, ids)
			break
		}
	}
	wg.Wait()
}

// TestSleepersLeaveRoomForThoseAfterThem: minting flat out sleeps for more than
// one millisecond at a time, and never so long that the lead is used up.
func TestSleepersLeaveRoomForThoseAfterThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, newStore(1), idworker.Options{Layout: twentieth()})
		begin, least := time.Now(), idworker.Lead
		for range 200 * 4096 {
			next(t, w)
			least = min(least, w.Stats().Lead)
		}
		if took := time.Since(begin); took > 200*time.Millisecond {
			t.Errorf("the IDs of 200 ms took %v", took)
		}
		if n := w.Stats().Waits; n > 100 {
			t.Errorf("%d sleeps in 200 ms", n)
		}
		if least < 0 {
			t.Errorf("the last ID was %v behind the clock", -least)
		}
	})
}

func TestStatsAndRecorderCountWaitsAndRanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rec tape
		var wall shifted
		s := newStore(1)
		w := open(t, s, idworker.Options{Layout: twentieth(), Wall: wall.now, Recorder: &rec})
		for range 46_000 { // 45,056 are the lead and the present millisecond
			next(t, w)
		}
		at := w.Stats()
		if at.Waits == 0 || at.RangeWaits != 0 || at.Lead < 8*time.Millisecond || at.Lead > idworker.Lead {
			t.Errorf("after a burst: %+v", at)
		}
		time.Sleep(time.Second) //nolint:forbidigo // of the bubble's clock
		wall.step(-time.Minute)
		at = w.Stats()
		if at.Lead > -900*time.Millisecond || at.FenceLeft > 0 || at.FenceAge != at.LeaseAge || at.FenceAge < time.Second {
			t.Errorf("idle for a second without Run: %+v", at)
		}
		next(t, w) // has to ask for a range, and sees the clock
		at = w.Stats()
		if at.RangeWaits != 1 || at.Rollbacks != 1 || at.FenceAge != 0 || at.LeaseAge < time.Second || at.FenceLeft < 100*time.Millisecond {
			t.Errorf("after a renewal: %+v", at)
		}
		rec.mu.Lock()
		defer rec.mu.Unlock()
		if uint64(len(rec.waits)) != at.Waits || len(rec.steps) != 1 || rec.steps[0].Round(10*time.Millisecond) != time.Minute {
			t.Errorf("recorded %d waits and steps %v", len(rec.waits), rec.steps)
		}
		if len(rec.renewed) != 1 || rec.renewed[0] != nil || rec.last.FenceLeft != at.FenceLeft {
			t.Errorf("recorded renewals %v, %+v", rec.renewed, rec.last)
		}
	})
}

// TestNoCallWaitsForARangeWithRun: at a steady pace the renewal is always in
// time.
func TestNoCallWaitsForARangeWithRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, newStore(1), idworker.Options{Layout: twentieth()})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = w.Run(ctx) }()
		for range 5000 { // 5 s of 100 in a millisecond
			time.Sleep(time.Millisecond) //nolint:forbidigo // of the bubble's clock
			for range 100 {
				next(t, w)
			}
		}
		if at := w.Stats(); at.RangeWaits != 0 || at.Waits != 0 || at.Minted != 500_000 {
			t.Errorf("got %+v, want no waits", at)
		}
	})
}

func TestHealthySaysWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(1)
		w := open(t, s, idworker.Options{Layout: twentieth()})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = w.Run(ctx) }()
		healthy := func(want ...error) {
			t.Helper()
			time.Sleep(2 * time.Second) //nolint:forbidigo // of the bubble's clock
			err := w.Healthy()
			if len(want) == 0 && err != nil {
				t.Errorf("got %v, want nil", err)
			}
			for _, e := range want {
				if !errors.Is(err, e) {
					t.Errorf("got %v, want %v", err, e)
				}
			}
		}
		healthy()
		s.fail(errStore)
		healthy(idworker.ErrNoGrant, errStore)
		s.fail(nil)
		healthy()

		// A caller's own impatience is no illness.
		cancel()
		time.Sleep(time.Minute) //nolint:forbidigo // of the bubble's clock, past the range
		s.fail(errStore)
		impatient, stop := context.WithCancel(t.Context())
		stop()
		if _, err := w.Next(impatient); !errors.Is(err, idworker.ErrNoGrant) {
			t.Errorf("got %v, want ErrNoGrant", err)
		}
		healthy()
		s.fail(nil)
		if err := w.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		healthy(idworker.ErrClosed)
	})
}

// TestWorkerThatMintsNothingIsNotHealthy: a Lender that stands still has said nothing yet, and the range is over before
// the question is given up. Before that, and after an answer, the Worker is well.
func TestWorkerThatMintsNothingIsNotHealthy(t *testing.T) {
	for _, policy := range []idworker.ClockPolicy{idworker.ClockSteady, idworker.ClockRefuse, idworker.ClockWait} {
		synctest.Test(t, func(t *testing.T) {
			s := &standing{Lender: newStore(1)}
			w := open(t, s, idworker.Options{Layout: twentieth(), Clock: policy})
			go func() { _ = w.Run(t.Context()) }()
			mints := func() bool {
				ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
				defer cancel()
				_, err := w.Next(ctx)
				return err == nil
			}
			stopped := 0
			for i := range 300 {
				time.Sleep(50 * time.Millisecond) //nolint:forbidigo // of the bubble's clock
				s.still.Store(i >= 100 && i < 200)
				could, err := mints(), w.Healthy()
				if !could {
					stopped++
				}
				if !could && !errors.Is(err, idworker.ErrNoGrant) || i < 100 && err != nil {
					t.Errorf("policy %d, %d: it mints: %v, and Healthy says %v", policy, i, could, err)
				}
			}
			if err := w.Healthy(); stopped == 0 || err != nil {
				t.Errorf("policy %d: it minted nothing %d times; at last %v", policy, stopped, err)
			}
		})
	}
}

// A standing Lender does not answer while it stands still.
type standing struct {
	idworker.Lender
	still atomic.Bool
}

func (s *standing) Extend(ctx context.Context, g idworker.Grant, until time.Time) (idworker.Grant, error) {
	if s.still.Load() {
		<-ctx.Done()
		return idworker.Grant{}, ctx.Err()
	}
	return s.Lender.Extend(ctx, g, until)
}
