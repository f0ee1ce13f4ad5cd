//nolint:forbidigo // every Sleep is in a synctest bubble, where time is the test's own
package feed_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/store/feed"
)

const bound = 5 * time.Second

func TestNothingIsReliedOnBeforeTheFirstPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &database{}
		f := open(t, db)
		if f.Fresh() || !f.Horizon().IsZero() {
			t.Error("fresh before any poll")
		}
		db.fail(errors.New("no route"))
		if err := f.Poll(t.Context()); err == nil || f.Fresh() {
			t.Errorf("failed poll: %v, fresh %v", err, f.Fresh())
		}
		db.fail(nil)
		if err := f.Poll(t.Context()); err != nil || !f.Fresh() {
			t.Errorf("first poll: %v, fresh %v", err, f.Fresh())
		}
	})
}

// The horizon is what was known before the database was asked, not after.
func TestHorizonIsTheStartOfThePoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &database{slow: 700 * time.Millisecond}
		f := open(t, db)
		start := time.Now()
		if err := f.Poll(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := f.Horizon(); !got.Equal(start) {
			t.Errorf("horizon %v after the start of the poll, want the start", got.Sub(start))
		}
		time.Sleep(bound - 701*time.Millisecond)
		if !f.Fresh() {
			t.Error("stale a moment before the bound")
		}
		time.Sleep(time.Millisecond)
		if f.Fresh() {
			t.Error("fresh at the bound")
		}
	})
}

// An end that is stamped, and becomes visible a good while later, is heard of.
func TestLateCommitIsSeen(t *testing.T) {
	for _, delay := range []time.Duration{0, time.Second, 3 * time.Second, 5900 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			db := &database{}
			f := open(t, db)
			run(t, f)
			time.Sleep(10 * time.Second)
			at := time.Now()
			time.Sleep(delay)
			db.end(7, at)
			time.Sleep(2 * f.Every())
			if !db.heard(7) {
				t.Errorf("committed %v after its stamp: not heard of", delay)
			}
		})
	}
}

func TestSoonDoesNotWaitForTheNextTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &database{}
		f := open(t, db)
		run(t, f)
		time.Sleep(10*time.Second + f.Every()/4)
		db.end(7, time.Now())
		f.Soon()
		f.Soon() // twice is once
		synctest.Wait()
		if !db.heard(7) {
			t.Error("not heard of at once")
		}
	})
}

// Windows go on from the last poll that was applied, however long ago.
func TestOutageLeavesNoGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, log := &database{}, &strings.Builder{}
		f := openLog(t, db, log)
		stop := run(t, f)
		time.Sleep(10 * time.Second)
		db.fail(errors.New("no route"))
		db.end(7, time.Now())
		time.Sleep(time.Hour)
		if f.Fresh() {
			t.Error("fresh after an hour without a poll")
		}
		db.fail(nil)
		time.Sleep(2 * f.Every())
		if !db.heard(7) || !f.Fresh() {
			t.Errorf("after the outage: heard %v, fresh %v", db.heard(7), f.Fresh())
		}
		stop()
		if n := strings.Count(log.String(), "\n"); n != 2 {
			t.Errorf("%d lines about one outage, want 2:\n%s", n, log)
		}
	})
}

// After a failover another clock stamps the ends. If it is behind, they lie
// before the window.
func TestDatabaseClockSetBackReadsAllAgain(t *testing.T) {
	for _, back := range []time.Duration{time.Second, 7 * time.Second, 30 * time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			db := &database{}
			f := open(t, db)
			run(t, f)
			time.Sleep(2*time.Hour + f.Every()/2)
			db.setBack(back)
			db.end(7, db.now())
			time.Sleep(f.Every() * 3 / 4) // one poll: its horizon says that this is known
			if !db.heard(7) {
				t.Errorf("clock set back by %v: an end stamped right after is not heard of", back)
			}
		})
	}
}

// A database's clock that goes forward ends logins for good: an operator is told, once.
func TestDatabaseClockSetForwardIsLogged(t *testing.T) {
	for by, want := range map[time.Duration]int{5 * time.Second: 0, 11 * time.Second: 1, 15 * 24 * time.Hour: 1} {
		synctest.Test(t, func(t *testing.T) {
			db, log := &database{}, &strings.Builder{}
			f := openLog(t, db, log)
			stop := run(t, f)
			time.Sleep(10 * time.Second)
			db.fail(errors.New("no route")) // the time of an outage is no jump
			time.Sleep(time.Minute)
			db.fail(nil)
			time.Sleep(2 * f.Every())
			db.setBack(-by)
			time.Sleep(3 * f.Every())
			stop()
			if n := strings.Count(log.String(), "the database's clock went forward"); n != want {
				t.Errorf("clock set forward by %v: %d lines say so, want %d:\n%s", by, n, want, log)
			}
		})
	}
}

// The horizon covers the policy: who relies on it judges by one that is as new.
func TestPolicyIsAppliedBeforeTheHorizonMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &database{}
		db.rule = policy.Default()
		db.rule.Version = 7
		var f *feed.Feed
		var applied int64
		f, err := feed.New(feed.Options{From: db, Learn: db.learn, Bound: bound, Policy: func(_ context.Context, p policy.Policy) {
			if applied = p.Version; !f.Horizon().IsZero() {
				t.Error("the horizon has moved, and the policy is not applied")
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Poll(t.Context()); err != nil || applied != 7 {
			t.Errorf("Poll: %v, version %d applied, want 7", err, applied)
		}
	})
}

// Nothing is too old for good before a poll has proven it, and no poll proves
// anything while the policy is being changed.
func TestWatermarkIsProvenAndOnlyGrows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &database{}
		db.rule = policy.Default()
		f := open(t, db)
		poll := func() time.Time {
			t.Helper()
			if err := f.Poll(t.Context()); err != nil {
				t.Fatal(err)
			}
			return f.Watermark()
		}
		if at := poll(); !at.IsZero() {
			t.Errorf("during a change of the policy: watermark %v, want none", at)
		}
		db.steady = true
		first := time.Now().Add(-db.rule.Absolute)
		if at := poll(); !at.Equal(first) {
			t.Errorf("watermark %v, want %v", at, first)
		}
		time.Sleep(time.Hour)
		if at := f.Watermark(); !at.Equal(first) {
			t.Errorf("watermark %v without a poll, want %v", at, first)
		}
		db.rule.Absolute *= 2 // as a change with a base that is too low would
		if at := poll(); !at.Equal(first) {
			t.Errorf("watermark %v, want still %v", at, first)
		}
		db.rule.AbsoluteBase = first.Add(time.Minute)
		if at := poll(); !at.Equal(first.Add(time.Minute)) {
			t.Errorf("watermark %v, want the base", at)
		}
	})
}

// The clock is the database's, also between polls, and never behind it.
func TestClockIsThatOfTheDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &database{slow: 300 * time.Millisecond}
		db.setBack(time.Hour)
		f := open(t, db)
		if _, ok := f.Clock(); ok {
			t.Error("a clock before it was read")
		}
		other := open(t, db) // one that cannot poll has the clock from the rows
		other.Saw(db.now(), time.Now())
		if now, ok := other.Clock(); !ok || !now.Equal(db.now()) {
			t.Errorf("clock %v, want what a row was read with", now)
		}
		if err := f.Poll(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		now, ok := f.Clock()
		if ahead := now.Sub(db.now()); !ok || ahead < 0 || ahead > db.slow {
			t.Errorf("%v ahead of the database's clock, want at most the time of the poll", ahead)
		}
		// This machine has slept, and somebody has read the clock since.
		f.Saw(now.Add(time.Hour), time.Now())
		if later, _ := f.Clock(); !later.Equal(now.Add(time.Hour)) {
			t.Errorf("clock %v, want what was seen, %v", later, now.Add(time.Hour))
		}
		f.Saw(now, time.Now())
		if later, _ := f.Clock(); !later.Equal(now.Add(time.Hour)) {
			t.Errorf("clock %v, want it not to go back to %v", later, now)
		}
	})
}

// TestClockIsNotAheadByWhatAPollProves: what a poll does before it reads the clock does not
// count.
func TestClockIsNotAheadByWhatAPollProves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, err := feed.New(feed.Options{
			From: source(func() session.News {
				time.Sleep(time.Second)
				return session.News{Now: time.Now(), Asked: time.Now(), Policy: policy.Default()}
			}), Learn: func(session.News) {}, Bound: bound,
		})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if err := f.Poll(t.Context()); err != nil {
			t.Fatal(err)
		}
		if now, _ := f.Clock(); !now.Equal(time.Now()) || !f.Horizon().Equal(start) {
			t.Errorf("the clock is %v ahead, the horizon %v after the start of the poll", time.Until(now), f.Horizon().Sub(start))
		}
	})
}

// A replica that was promoted may apply an end late that the old primary had
// stamped: its stamp lies before the window.
func TestAnotherServerIsReadFromTheBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &database{server: "a"}
		f := open(t, db)
		for range 3 {
			if err := f.Poll(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(30 * time.Second)
		}
		db.end(7, time.Now().Add(-80*time.Second))
		db.server = "b"
		if err := f.Poll(t.Context()); err != nil || !db.heard(7) {
			t.Errorf("Poll of another server: %v, heard of the end: %v", err, db.heard(7))
		}
	})
}

func TestEndsAreLearntBeforeTheHorizonMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &database{}
		var f *feed.Feed
		var err error
		f, err = feed.New(feed.Options{From: db, Bound: bound, Learn: func(session.News) {
			if !f.Horizon().IsZero() {
				t.Error("the horizon has moved, and the ends are not learnt")
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Poll(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

func TestGlobalFloorOnlyRises(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &database{}
		f := open(t, db)
		for _, c := range []struct{ read, want idworker.ID }{{0, 0}, {5, 5}, {3, 5}, {9, 9}} {
			db.floor = c.read
			if err := f.Poll(t.Context()); err != nil || f.Global() != c.want {
				t.Errorf("read %v: floor %v, %v; want %v", c.read, f.Global(), err, c.want)
			}
		}
	})
}

func TestHungPollIsGivenUpWithinTheBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &database{slow: time.Hour}
		f := open(t, db)
		start := time.Now()
		if err := f.Poll(t.Context()); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > bound {
			t.Errorf("Poll: %v after %v", err, time.Since(start))
		}
	})
}

func TestOptionsThatCannotBeMet(t *testing.T) {
	db := &database{}
	for _, o := range []feed.Options{{}, {From: db, Bound: bound}, {Learn: db.learn, Bound: bound}, {From: db, Learn: db.learn}} {
		if _, err := feed.New(o); err == nil {
			t.Errorf("New(%+v): no error", o)
		}
	}
}

func open(t *testing.T, db *database) *feed.Feed { return openLog(t, db, &strings.Builder{}) }

func openLog(t *testing.T, db *database, log *strings.Builder) *feed.Feed {
	t.Helper()
	f, err := feed.New(feed.Options{
		From: db, Learn: db.learn, Bound: bound, Log: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func run(t *testing.T, f *feed.Feed) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { f.Run(ctx) })
	stop = func() { cancel(); running.Wait() }
	t.Cleanup(stop)
	return stop
}

// A database keeps ends, stamped by a clock of its own, and what was learnt of
// them.
type database struct {
	slow   time.Duration
	floor  idworker.ID
	rule   policy.Policy
	steady bool
	server string

	mu     sync.Mutex
	back   time.Duration
	err    error
	ends   []session.End
	learnt []idworker.ID
}

func (d *database) now() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Now().Add(-d.back)
}

func (d *database) setBack(by time.Duration) { d.mu.Lock(); d.back += by; d.mu.Unlock() }
func (d *database) fail(err error)           { d.mu.Lock(); d.err = err; d.mu.Unlock() }

func (d *database) end(id idworker.ID, at time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ends = append(d.ends, session.End{UserID: 1, Floor: id, Reason: session.LoggedOut, At: at})
}

func (d *database) News(ctx context.Context, since time.Time, keep time.Duration) (session.News, error) {
	select {
	case <-time.After(d.slow):
	case <-ctx.Done():
		return session.News{}, ctx.Err()
	}
	news := session.News{Now: d.now(), Global: d.floor, Policy: d.rule, Steady: d.steady, Server: d.server}
	if since.IsZero() {
		since = news.Now.Add(-keep)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.ends {
		if !e.At.Before(since) {
			news.Ends = append(news.Ends, e)
		}
	}
	return news, d.err
}

func (d *database) learn(n session.News) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range n.Ends {
		d.learnt = append(d.learnt, e.Floor)
	}
}

func (d *database) heard(id idworker.ID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Contains(d.learnt, id)
}

// TestLostCommitsAreReported: a change of an earlier poll is missing, another server
// answers, or the floor of all users is lower than it was.
func TestLostCommitsAreReported(t *testing.T) {
	for name, lose := range map[string]func(*session.News){
		"a poll":         func(n *session.News) { n.Lost = true },
		"another server": func(n *session.News) { n.Server = "b" },
		"the floor":      func(n *session.News) { n.Global = 1 },
		"nothing":        func(*session.News) {},
	} {
		news, calls := session.News{Now: time.Now(), Policy: policy.Default(), Server: "a", Global: 2}, 0
		f, err := feed.New(feed.Options{
			From: source(func() session.News { return news }), Learn: func(session.News) {}, Bound: bound, Lost: func() { calls++ },
		})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := f.Poll(t.Context()); err != nil || calls != 0 {
				t.Fatalf("%s: before: %d reports, %v", name, calls, err)
			}
		}
		lose(&news)
		if err := f.Poll(t.Context()); err != nil || (calls == 1) != (name != "nothing") {
			t.Errorf("%s: %d reports, %v", name, calls, err)
		}
	}
}

type source func() session.News

func (s source) News(context.Context, time.Time, time.Duration) (session.News, error) {
	return s(), nil
}

// TestLostCommitsAreReportedIfTheNextReadFails: the poll that finds another server, or a clock that was
// set back, reads all ends again. In the middle of a failover that may fail, and a source says of
// a change that it has lost once only.
func TestLostCommitsAreReportedIfTheNextReadFails(t *testing.T) {
	away := errors.New("away")
	for name, lose := range map[string]func(*session.News){
		"another server":        func(n *session.News) { n.Server = "b" },
		"a change, by a server": func(n *session.News) { n.Server, n.Lost = "b", true },
		"a change, by a clock":  func(n *session.News) { n.Now, n.Lost = n.Now.Add(-time.Minute), true },
	} {
		news, calls := session.News{Now: time.Now(), Policy: policy.Default(), Server: "a"}, 0
		read := 0 // since then
		f, err := feed.New(feed.Options{From: reads(func() (session.News, error) {
			n := news
			if read++; read == 2 {
				return session.News{}, away
			}
			news.Lost = false
			return n, nil
		}), Learn: func(session.News) {}, Bound: bound, Lost: func() { calls++ }})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Poll(t.Context()); err != nil {
			t.Fatal(err)
		}
		lose(&news)
		read = 0
		if err := f.Poll(t.Context()); !errors.Is(err, away) {
			t.Fatalf("%s: the second read did not fail: %v", name, err)
		}
		for range 2 {
			if err := f.Poll(t.Context()); err != nil || calls != 1 {
				t.Errorf("%s: %d reports, %v", name, calls, err)
			}
		}
	}
}

// reads are a source that may fail.
type reads func() (session.News, error)

func (r reads) News(context.Context, time.Time, time.Duration) (session.News, error) { return r() }
