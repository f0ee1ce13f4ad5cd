package idworker_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/idworker"
)

// A shifted clock is the bubble's, set by an operator.
type shifted struct{ by atomic.Int64 }

func (s *shifted) now() time.Time { return time.Now().Add(time.Duration(s.by.Load())) }

func (s *shifted) step(d time.Duration) { s.by.Add(int64(d)) }

func TestSequenceStarts(t *testing.T) {
	for name, test := range map[string]struct {
		start       idworker.SequenceStart
		below, kind int64 // every sequence is below, and at least so many differ
	}{
		"zero":     {idworker.StartZero, 1, 1},
		"below100": {idworker.StartBelow100, 100, 80},
		"random":   {idworker.StartRandom, 4096, 800},
		"turning":  {idworker.StartTurning, 2048, 1000},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := twentieth()
				w := open(t, newStore(1), idworker.Options{Layout: l, Start: test.start})
				different := make(map[int64]bool)
				highest := int64(0)
				for range 1000 {
					seq := l.Decompose(next(t, w)).Sequence
					if seq >= test.below {
						t.Fatalf("sequence %d, want below %d", seq, test.below)
					}
					different[seq], highest = true, max(highest, seq)
					time.Sleep(2 * time.Millisecond) //nolint:forbidigo // of the bubble's clock
				}
				if int64(len(different)) < test.kind {
					t.Errorf("%d different sequences in 1000, want %d", len(different), test.kind)
				}
				if test.start == idworker.StartRandom && highest < 3500 {
					t.Errorf("the highest sequence of 1000 is %d", highest)
				}
			})
		})
	}
}

// TestStartsCostNoRoomInABurst: a start in the middle of a millisecond borrows
// from the next one, so a burst has the whole room whatever the start.
func TestStartsCostNoRoomInABurst(t *testing.T) {
	for _, start := range []idworker.SequenceStart{
		idworker.StartTurning, idworker.StartZero, idworker.StartBelow100, idworker.StartRandom,
	} {
		synctest.Test(t, func(t *testing.T) {
			w := open(t, newStore(1), idworker.Options{Layout: twentieth(), Start: start})
			begin := time.Now()
			const n = 409_600 // 100 ms
			for range n {
				next(t, w)
			}
			if took := time.Since(begin); took > 90*time.Millisecond {
				t.Errorf("start %d: %d IDs took %v, want 90ms", start, n, took)
			}
		})
	}
}

func TestOptionsThatDoNotExistAreRefused(t *testing.T) {
	for name, o := range map[string]idworker.Options{
		"clock": {Clock: 4}, "start": {Start: 4}, "lead": {Lead: time.Hour}, "negative lead": {Lead: -1},
		"window": {Window: idworker.MaxWait},
	} {
		if w, err := idworker.Open(t.Context(), newStore(1), o); err == nil {
			t.Errorf("%s: opened %v", name, w.Number())
		}
	}
}

func TestRefusesWhileTheClockIsBehind(t *testing.T) {
	for _, policy := range []idworker.ClockPolicy{idworker.ClockRefuse, idworker.ClockWait} {
		synctest.Test(t, func(t *testing.T) {
			var c shifted
			w := open(t, newStore(1), idworker.Options{Layout: twentieth(), Clock: policy, Now: c.now})
			last := next(t, w)
			c.step(-time.Hour)
			for range 3 {
				if id, err := w.Next(t.Context()); !errors.Is(err, idworker.ErrClockBehind) {
					t.Fatalf("policy %d: %d, %v, want ErrClockBehind", policy, id, err)
				}
			}
			if _, err := w.NextN(t.Context(), make([]idworker.ID, 3)); !errors.Is(err, idworker.ErrClockBehind) {
				t.Errorf("policy %d: NextN: %v", policy, err)
			}
			if err := w.Healthy(); !errors.Is(err, idworker.ErrClockBehind) {
				t.Errorf("policy %d: Healthy: %v", policy, err)
			}
			if n := w.Stats().Rollbacks; n != 1 {
				t.Errorf("policy %d: %d rollbacks, want 1", policy, n)
			}
			time.Sleep(time.Hour) //nolint:forbidigo // of the bubble's clock
			if id := next(t, w); id <= last {
				t.Errorf("policy %d: %d after %d", policy, id, last)
			}
			if err := w.Healthy(); err != nil {
				t.Errorf("policy %d: Healthy: %v", policy, err)
			}
		})
	}
}

func TestWaitsOutAShortStepAsLeafDoes(t *testing.T) {
	for _, test := range []struct {
		back, waits time.Duration
		refused     bool
	}{{time.Millisecond, 2 * time.Millisecond, false}, {5 * time.Millisecond, 10 * time.Millisecond, false}, {6 * time.Millisecond, 0, true}} {
		synctest.Test(t, func(t *testing.T) {
			var c shifted
			l := twentieth()
			w := open(t, newStore(1), idworker.Options{Layout: l, Clock: idworker.ClockWait, Now: c.now})
			last := next(t, w)
			c.step(-test.back)
			start := time.Now()
			id, err := w.Next(t.Context())
			if test.refused != errors.Is(err, idworker.ErrClockBehind) || !test.refused && (err != nil || id <= last) {
				t.Errorf("%v back: %d after %d, %v", test.back, id, last, err)
			}
			if took := time.Since(start); took != test.waits {
				t.Errorf("%v back: waited %v, want %v", test.back, took, test.waits)
			}
			if err == nil && l.Time(id).After(c.now()) {
				t.Errorf("%v back: minted ahead of the clock", test.back)
			}
		})
	}
}

// TestStrictClocksAreNeverLed: a full millisecond is waited for.
func TestStrictClocksAreNeverLed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := twentieth()
		w := open(t, newStore(1), idworker.Options{Layout: l, Clock: idworker.ClockRefuse, Start: idworker.StartZero})
		for n := range 20_000 {
			if id := next(t, w); l.Time(id).After(time.Now()) {
				t.Fatalf("ID %d is of %v, and it is %v", n, l.Time(id), time.Now())
			}
		}
		if n := w.Stats().Waits; n == 0 {
			t.Error("nothing was waited for")
		}
	})
}

func TestIgnoredClockNeitherWaitsNorRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c shifted
		l := twentieth()
		s := newStore(1)
		o := idworker.Options{Layout: l, Clock: idworker.ClockIgnore, Now: c.now}
		w := open(t, s, o)
		var last idworker.ID
		for n := range 1_000_000 { // 244 ms of room
			id := next(t, w)
			if id <= last {
				t.Fatalf("%d after %d", id, last)
			}
			if n == 1000 {
				c.step(-24 * time.Hour)
			}
			last = id
		}
		if slept := w.Stats().Waits; slept != 0 {
			t.Errorf("%d waits", slept)
		}
		if ahead := time.Until(l.Time(last)); ahead < 240*time.Millisecond || ahead > 300*time.Millisecond {
			t.Errorf("ran %v ahead, want 244ms", ahead)
		}
		// Idle, its time stands still.
		time.Sleep(time.Minute) //nolint:forbidigo // of the bubble's clock
		if id := next(t, w); l.Time(id).Sub(l.Time(last)) > time.Millisecond {
			t.Errorf("moved by %v while idle", l.Time(id).Sub(l.Time(last)))
		}
		if _, err := w.NextAfter(t.Context(), l.Smallest(time.Now().Add(48*time.Hour))); !errors.Is(err, idworker.ErrTooFarAhead) {
			t.Errorf("a floor two days ahead: %v", err)
		}
		if err := w.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := open(t, s, o).Healthy(); err != nil {
			t.Errorf("opened again a day ahead: %v", err)
		}
	})
}

// TestSteadyClockCatchesUpAndNeverGoesBack: the machine was suspended, or the
// wall clock was set; the monotonic clock took no part.
func TestSteadyClockCatchesUpAndNeverGoesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var wall shifted
		l := twentieth()
		w := open(t, newStore(1), idworker.Options{Layout: l, Wall: wall.now})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = w.Run(ctx) }()
		next(t, w)

		wall.step(8 * time.Hour)
		time.Sleep(2 * time.Second) //nolint:forbidigo // of the bubble's clock
		id := next(t, w)
		if off := l.Time(id).Sub(wall.now()); off < -l.Unit || off > idworker.Lead {
			t.Errorf("%v off the wall clock after a step forward", off)
		}
		if n := w.Stats().Rollbacks; n != 0 {
			t.Errorf("%d rollbacks after a step forward", n)
		}
		if err := w.Healthy(); err != nil {
			t.Errorf("after a step forward: %v", err)
		}

		wall.step(-8 * time.Hour)
		last := id
		for range 2 {
			time.Sleep(2 * time.Second) //nolint:forbidigo // of the bubble's clock
			id = next(t, w)
			if passed := l.Time(id).Sub(l.Time(last)); passed < 2*time.Second-l.Unit || passed > 2*time.Second+idworker.Lead {
				t.Errorf("%v passed in 2s after a step back", passed)
			}
			last = id
		}
		if n := w.Stats().Rollbacks; n != 1 {
			t.Errorf("%d rollbacks, want 1", n)
		}
		if err := w.Healthy(); !errors.Is(err, idworker.ErrClockBehind) {
			t.Errorf("8h ahead of the wall clock: %v", err)
		}
	})
}
