package sweep_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	_ "time/tzdata"

	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/sweep"
)

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

// In New York, half past two in the morning does not come on the night in which
// clocks go forward, and half past one comes twice when they go back.
func TestRunIsInUTC(t *testing.T) {
	here := time.Local
	defer func() { time.Local = here }()
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	forward, back := time.Date(2000, 4, 1, 0, 0, 0, 0, time.UTC), time.Date(2000, 10, 28, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		zone *time.Location
		day  time.Time // the one before the night
		spec string
	}{
		{time.FixedZone("elsewhere", 5*3600+1800), forward, "0 3 * * *"},
		{newYork, forward, "30 2 * * *"}, {newYork, forward, "30 7 * * *"}, {newYork, back, "30 1 * * *"}, {newYork, back, "30 5 * * *"},
	} {
		time.Local = c.zone
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Until(c.day)) //nolint:forbidigo // in a bubble
			w := run(t, c.spec)
			at, err := sweep.ParseSchedule(c.spec)
			if err != nil {
				t.Fatal(err)
			}
			w.wait(time.Until(at.Next(c.day)) - time.Second)
			w.want(t, 0, c.spec+": a second before, in "+c.zone.String())
			w.wait(2 * time.Second)
			w.want(t, 1, c.spec+": at its time in UTC, in "+c.zone.String())
			w.wait(24 * time.Hour)
			w.want(t, 2, c.spec+": once on each of two days, in "+c.zone.String())
			w.stop()
		})
	}
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

// A change of the schedule neither stops the pass that runs nor begins another
// beside it.
func TestRunFollowsAChangeWhileAPassRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := run(t, "@every 10s")
		hold := make(chan struct{})
		w.store.holdBack(hold)
		w.store.fill(sweep.Expired, 7)
		w.wait(10 * time.Second)
		w.schedule("@every 1s")
		w.wait(12 * time.Second)
		w.want(t, 1, "while the first pass is still running")
		if w.skips != 0 {
			t.Errorf("%d passes asked for the lease beside the one that runs here", w.skips)
		}
		w.store.holdBack(nil)
		close(hold)
		w.wait(5 * time.Second)
		w.want(t, 6, "by the new schedule")
		if len(w.swept) != 6 || w.swept[0].Cleared != 7 {
			t.Errorf("got %+v, want the first to have cleared 7", w.swept)
		}
		w.stop()
	})
}

func TestRunSurvivesAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := run(t, "@every 1s")
		n := 0
		w.store.headFails(func() error {
			if n++; n <= 2 {
				panic("nil map")
			}
			return nil
		})
		w.store.fill(sweep.Expired, 3)
		w.wait(3 * time.Second)
		w.store.set(func() {
			w.store.fail = func(call int) error {
				if call == 2 {
					panic("in a batch")
				}
				return nil
			}
		})
		w.store.fill(sweep.Expired, 3)
		w.wait(2 * time.Second)
		w.want(t, 5, "each second, although three passes panicked")
		if n := w.log.Count("panicked"); n != 3 {
			t.Errorf("%d lines about three panics", n)
		}
		if len(w.swept) != 5 || w.swept[1].Outcome != sweep.Failed || w.swept[3].Outcome != sweep.Failed || w.swept[4].Cleared != 3 {
			t.Errorf("got %+v", w.swept)
		}
		w.stop()
	})
}

func TestRunStopsBetweenTwoBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := run(t, "@every 1s")
		w.store.set(func() { w.store.endless, w.store.each = true, time.Microsecond })
		w.wait(1500 * time.Millisecond)
		began := time.Now()
		w.stop()
		if took := time.Since(began); took > 10*time.Millisecond {
			t.Errorf("Run ended %v after its context", took)
		}
		if w.log.Count("stopped early") != 0 {
			t.Error("the end of the program is logged as a failure")
		}
		if len(w.swept) != 1 || w.swept[0].Outcome != sweep.Stopped || time.Now().Before(w.runs.until) {
			t.Errorf("got %+v, lease until %v: want it stopped, and the lease free for others", w.swept, w.runs.until)
		}
	})
}

func TestRunWaitsForAPassThatIsStillInTheStore(t *testing.T) {
	for _, begin := range []func(*world) error{
		func(w *world) error { w.wait(time.Second); return nil },
		func(w *world) error {
			_, err := w.Request(context.Background(), audit.Actor{})
			synctest.Wait()
			return err
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := run(t, "@every 1s")
			hold := make(chan struct{})
			w.store.holdBack(hold)
			if err := begin(w); err != nil {
				t.Fatal(err)
			}
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
}

// cron waits by a clock that knows no steps. After one of the clock on the wall,
// what it waited for is planned anew.
func TestRunPlansAnewWhenTheClockIsSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		var mu sync.Mutex
		var off time.Duration
		w.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return time.Now().Add(off) }
		w.start(t, "@every 1m")
		w.wait(30 * time.Second)
		for _, step := range []time.Duration{time.Hour, -2 * time.Hour} {
			mu.Lock()
			off += step
			mu.Unlock()
			w.wait(50 * time.Second)
			w.want(t, 0, "half a minute after it was planned at first")
		}
		w.wait(12 * time.Second)
		w.want(t, 1, "a minute after the last step")
		w.wait(10 * time.Minute)
		w.want(t, 11, "as usual again")
		w.stop()
	})
}

func TestSweptHearsOfEachPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := errors.New("no route")
		w := run(t, "@every 1s")
		w.store.fill(sweep.Expired, 7)
		w.wait(time.Second)
		w.store.headFails(func() error { return down })
		w.wait(time.Second)
		w.store.headFails(nil)
		w.runs.mu.Lock()
		w.runs.fail = down
		w.runs.mu.Unlock()
		w.wait(time.Second)
		w.stop()
		if len(w.swept) != 3 || w.swept[0].Cleared != 7 || w.swept[0].Outcome != sweep.Done ||
			w.swept[1].Outcome != sweep.Failed || w.swept[1].Detail == "" || w.swept[2].Outcome != sweep.Failed {
			t.Errorf("got %+v, want 7 cleared, then two failures", w.swept)
		}
		if w.log.Count("stopped early") != 1 || w.log.Count("cleared=7") != 1 || w.log.Count("not begun") != 1 {
			t.Error("the log does not name all three")
		}
	})
}

// What came by the schedule and found nothing is not worth a line of history.
func TestHistoryHasWhatIsWorthIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := run(t, "@every 1s")
		w.wait(10 * time.Second)
		w.store.fill(sweep.Idle, 5)
		w.wait(2 * time.Second)
		w.store.headFails(func() error { return errors.New("no route") })
		w.wait(time.Second)
		w.store.headFails(nil)
		if _, err := w.Request(t.Context(), audit.Actor{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		w.stop()
		if r := w.runs.reports; len(r) != 3 || r[0].Cleared != 5 || r[1].Outcome != sweep.Failed || r[2].RequestedBy == "" {
			t.Errorf("the history has %+v, want the one that cleared, the one that failed, the one asked for", r)
		}
	})
}

func TestRequestIsOnRecordAndRunsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := run(t, "@every 1h")
		w.store.fill(sweep.Expired, 12)
		ctx, gone := context.WithCancel(t.Context())
		r, err := w.Request(ctx, audit.Actor{ID: 5, Name: "ada", Via: audit.ViaAPI})
		gone() // who asked does not wait
		if err != nil || r.ID == 0 || r.Outcome != sweep.Running || r.RequestedBy != "ada" {
			t.Fatalf("Request: %+v, %v", r, err)
		}
		synctest.Wait()
		if len(w.swept) != 1 || w.swept[0].ID != r.ID || w.swept[0].Cleared != 12 || w.swept[0].Outcome != sweep.Done {
			t.Errorf("got %+v, want 12 cleared", w.swept)
		}
		if e := w.runs.events; len(e) != 1 || e[0].Action != audit.SweepRequested || e[0].By.Name != "ada" || e[0].Target.ID != r.ID || e[0].ID == 0 {
			t.Errorf("events %+v", e)
		}
		hold := make(chan struct{})
		w.store.holdBack(hold)
		for _, want := range []error{nil, sweep.ErrRunning, sweep.ErrRunning} {
			if _, err := w.Request(t.Context(), audit.Actor{}); !errors.Is(err, want) {
				t.Errorf("Request: %v, want %v", err, want)
			}
			synctest.Wait()
		}
		close(hold)
		w.stop()
		if _, err := w.Request(t.Context(), audit.Actor{}); !errors.Is(err, sweep.ErrStopped) {
			t.Errorf("Request after the end: %v", err)
		}
	})
}

// While one instance sweeps, the others skip.
func TestOthersSkipWhileTheLeaseIsFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := run(t, "@every 1s")
		b := newWorld()
		b.store, b.runs = a.store, a.runs
		b.Store, b.Runs, b.IDs = a.store, a.runs, idsAfter(1<<40)
		hold := make(chan struct{})
		a.store.holdBack(hold)
		a.wait(1500 * time.Millisecond)
		b.start(t, "@every 1s")
		b.wait(10 * time.Second)
		if b.skips != 10 || len(b.swept) != 0 {
			t.Errorf("the other skipped %d of ten and swept %d times", b.skips, len(b.swept))
		}
		a.store.holdBack(nil)
		close(hold)
		b.wait(2 * time.Second)
		if len(b.swept) == 0 {
			t.Error("the other does not sweep when the lease is free")
		}
		a.stop()
		b.stop()
	})
}

// A holder that is dead, or stands still, keeps others waiting for the lease
// and no longer. If it wakes up, it finds out and stops.
func TestLeaseOfADeadHolderEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newWorld(), newWorld()
		b.store, b.runs = a.store, a.runs
		b.Store, b.Runs, b.IDs = a.store, a.runs, idsAfter(1<<40)
		a.store.endless = true
		frozen, awake := make(chan struct{}), make(chan struct{})
		a.store.fail = func(call int) error {
			if call == 3 {
				close(frozen)
				<-awake
			}
			return nil
		}
		var first sweep.Report
		var all sync.WaitGroup
		all.Go(func() { first, _ = a.Once(t.Context(), audit.Actor{}) })
		<-frozen
		a.store.set(func() { a.store.endless = false })
		lease := sweep.DefaultLimits().Lease
		for begun := time.Now(); ; b.wait(time.Second) {
			r, err := b.Once(t.Context(), audit.Actor{})
			if err == nil {
				if waited := time.Since(begun); waited < lease || waited > lease+time.Second || r.Outcome != sweep.Done {
					t.Errorf("taken over after %v, %+v", waited, r)
				}
				break
			}
			if !errors.Is(err, sweep.ErrRunning) || time.Since(begun) > time.Minute {
				t.Fatalf("after %v: %v", time.Since(begun), err)
			}
		}
		close(awake)
		all.Wait()
		if first.Outcome != sweep.TakenOver {
			t.Errorf("the first ended as %q, want to find that it was taken over", first.Outcome)
		}
		for token, n := range a.store.cleared {
			if n != 1 {
				t.Errorf("login %v was cleared %d times", token, n)
			}
		}
	})
}

// A pass that stands still and has lost its lease may wake up at any moment. Its instance
// begins no other beside it: they share what is kept between two passes.
func TestInstanceWalksOnePassAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.store.fill(sweep.Expired, 10)
		w.standsStill(t, func(freeze func()) { w.store.fail = func(int) error { freeze(); return nil } })
		w.once(t)
	})
}

// TestInstanceTakesOnePassAtATime: an instance that stands still between the lease and the
// first batch has lost the lease when it goes on. It walks then, and no other beside it.
func TestInstanceTakesOnePassAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.store.fill(sweep.Expired, 10)
		w.standsStill(t, func(freeze func()) { w.runs.taken = freeze })
		w.runs.fail = errors.New("no connection")
		if _, err := w.Once(t.Context(), audit.Actor{}); !errors.Is(err, w.runs.fail) {
			t.Errorf("without a lease: %v", err)
		}
		w.runs.fail = nil
		w.once(t)
	})
}

// standsStill has a pass stand still where it calls the function that set gets, until its lease is
// over. No other pass of this instance begins beside it.
func (w *world) standsStill(t *testing.T, set func(freeze func())) {
	t.Helper()
	frozen, awake := make(chan struct{}), make(chan struct{})
	var first atomic.Bool
	set(func() {
		if first.CompareAndSwap(false, true) {
			close(frozen)
			<-awake
		}
	})
	var all sync.WaitGroup
	all.Go(func() { _, _ = w.Once(t.Context(), audit.Actor{}) })
	<-frozen
	w.wait(sweep.DefaultLimits().Lease + time.Second)
	if _, err := w.Once(t.Context(), audit.Actor{}); !errors.Is(err, sweep.ErrRunning) {
		t.Errorf("beside a pass that stands still: %v, want ErrRunning", err)
	}
	close(awake)
	all.Wait()
}

// TestPanicAfterASweepEndsNoProgram, also of a pass that somebody has requested.
func TestPanicAfterASweepEndsNoProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		calls := 0
		w.After = func(context.Context) { calls++; panic("a fault") }
		w.start(t, "@every 1h")
		for range 2 {
			if _, err := w.Request(t.Context(), audit.Actor{}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		w.stop()
		if calls != 2 {
			t.Errorf("After was called %d times, want twice", calls)
		}
	})
}
