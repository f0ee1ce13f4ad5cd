package sweep_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/internal/policy"
	"github.com/flakepass/flakepass/internal/sweep"
)

func TestOnceClearsBatchAfterBatch(t *testing.T) {
	for _, c := range []struct{ left, batch, calls int }{
		{0, 10, 1}, {9, 10, 1}, {10, 10, 2}, {11, 10, 2}, {35, 10, 4}, {1200, 0, 3},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &store{left: c.left}
			n, err := (&sweep.Sweeper{Store: s, Policy: policy.Fixed(policy.Default()), Batch: c.batch}).Once(t.Context())
			if err != nil || n != c.left || s.calls != c.calls {
				t.Errorf("%d left, batches of %d: cleared %d in %d calls, %v; want all in %d", c.left, c.batch, n, s.calls, err, c.calls)
			}
		})
	}
}

func TestOnceAsksByTheWatermarks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policy.Default()
		p.IdleBase = time.Now().Add(-time.Hour)
		s := &store{}
		if _, err := (&sweep.Sweeper{Store: s, Policy: policy.Fixed(p)}).Once(t.Context()); err != nil {
			t.Fatal(err)
		}
		if want := time.Now().Add(-p.Absolute); !s.issued.Equal(want) {
			t.Errorf("issued at or before %v, want %v", s.issued, want)
		}
		if !s.seen.Equal(p.IdleBase) {
			t.Errorf("seen at or before %v, want the base, %v", s.seen, p.IdleBase)
		}
	})
}

func TestOnceCountsWhatItClearedBeforeItFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := errors.New("no route")
		s := &store{left: 1000, fail: func(call int) error {
			if call == 3 {
				return down
			}
			return nil
		}}
		n, err := (&sweep.Sweeper{Store: s, Policy: policy.Fixed(policy.Default()), Batch: 10}).Once(t.Context())
		if n != 23 || !errors.Is(err, down) { // the third call cleared 3 before it failed
			t.Errorf("Once: %d, %v; want 23 and what the store said", n, err)
		}
	})
}

func TestOnceStopsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := &store{left: 1000, fail: func(call int) error {
			if call == 2 {
				cancel()
			}
			return nil
		}}
		n, err := (&sweep.Sweeper{Store: s, Policy: policy.Fixed(policy.Default()), Batch: 10}).Once(ctx)
		if n != 20 || !errors.Is(err, context.Canceled) || s.calls != 2 {
			t.Errorf("Once: %d in %d calls, %v; want 20 in 2 and context.Canceled", n, s.calls, err)
		}
	})
}

func TestRunFollowsTheScheduleAndItsChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := run(t, "@every 1m")
		w.wait(59 * time.Second)
		w.want(t, 0, "never at its start")
		w.wait(time.Second)
		w.want(t, 1, "after a minute")
		w.wait(5 * time.Minute)
		w.want(t, 6, "after six")

		w.schedule("@every 10s")
		w.wait(11 * time.Second) // it takes a second to notice
		w.want(t, 7, "ten seconds after the change")
		w.wait(time.Minute)
		w.want(t, 13, "a minute later")

		w.schedule("nonsense")
		w.wait(time.Minute)
		w.want(t, 19, "the last usable schedule stays in force")
		if n := w.log.Count("not usable"); n != 1 {
			t.Errorf("%d lines about one unusable schedule, want 1", n)
		}
		w.schedule("@every 1h")
		w.wait(time.Hour + time.Second)
		w.want(t, 20, "an hour after the change")
		w.stop()
		w.wait(24 * time.Hour)
		w.want(t, 20, "after the end")
	})
}

func TestRunWithAnUnusableScheduleWaitsForABetterOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := run(t, "TZ=0")
		w.wait(time.Hour)
		w.want(t, 0, "nothing to go by")
		w.schedule("@every 1m")
		w.wait(time.Minute + time.Second)
		w.want(t, 1, "a minute after it can be used")
		w.stop()
	})
}

func TestRunIsInUTC(t *testing.T) {
	here := time.Local
	time.Local = time.FixedZone("elsewhere", 5*3600+1800)
	defer func() { time.Local = here }()
	synctest.Test(t, func(t *testing.T) {
		w := run(t, "0 3 * * *")
		now := time.Now().UTC()
		next := time.Date(now.Year(), now.Month(), now.Day(), 3, 0, 0, 0, time.UTC)
		if !next.After(now) {
			next = next.AddDate(0, 0, 1)
		}
		w.wait(next.Sub(now) - time.Second)
		w.want(t, 0, "a second before three in UTC")
		w.wait(time.Second)
		w.want(t, 1, "at three in UTC")
		w.wait(48 * time.Hour)
		w.want(t, 3, "two days later")
		w.stop()
	})
}

func TestRunSkipsWhatWouldOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := run(t, "@every 1s")
		hold := make(chan struct{})
		w.store.holdBack(hold)
		w.wait(10 * time.Second)
		w.want(t, 1, "while the first pass is still running")
		w.store.holdBack(nil)
		close(hold)
		w.wait(5 * time.Second)
		w.want(t, 6, "once it has ended")
		w.stop()
	})
}

func TestRunSurvivesAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := run(t, "@every 1s")
		w.store.failWith(func(call int) error {
			if call <= 2 {
				panic("nil map")
			}
			return nil
		})
		w.wait(5 * time.Second)
		w.want(t, 5, "each second, although two passes panicked")
		if n := w.log.Count("panicked"); n != 2 {
			t.Errorf("%d lines about two panics", n)
		}
		w.stop()
	})
}

func TestRunStopsBetweenTwoBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := run(t, "@every 1s")
		w.store.refill(1 << 40) // never done
		w.wait(1500 * time.Millisecond)
		began := time.Now()
		w.stop()
		if took := time.Since(began); took > 10*time.Millisecond {
			t.Errorf("Run ended %v after its context", took)
		}
		if w.log.Count("stopped early") != 0 {
			t.Error("the end of the program is logged as a failure")
		}
	})
}

func TestRunWaitsForAPassThatIsStillInTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := run(t, "@every 1s")
		hold := make(chan struct{})
		w.store.holdBack(hold)
		w.wait(time.Second)
		w.cancel()
		synctest.Wait()
		select {
		case <-w.done:
			t.Error("Run returned while a pass was still at work")
		default:
		}
		close(hold)
		<-w.done
	})
}

func TestSweptHearsOfEachPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := errors.New("no route")
		w := run(t, "@every 1s")
		w.store.refill(7)
		w.wait(time.Second)
		w.store.failWith(func(int) error { return down })
		w.wait(time.Second)
		w.stop()
		if len(w.swept) != 2 || w.swept[0].n != 7 || w.swept[0].err != nil || !errors.Is(w.swept[1].err, down) {
			t.Errorf("heard %+v, want 7 cleared, then the failure", w.swept)
		}
		if w.log.Count("stopped early") != 1 || w.log.Count("cleared=7") != 1 {
			t.Error("the log does not tell of both")
		}
	})
}
