package policy_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/policy"
)

func TestNewLiveReadsOrFails(t *testing.T) {
	down := errors.New("no route")
	if _, err := policy.NewLive(t.Context(), &loader{err: down}); !errors.Is(err, down) {
		t.Errorf("NewLive: %v, want what the loader said", err)
	}
	l, err := policy.NewLive(t.Context(), &loader{p: version(3)})
	if err != nil || l.Current().Version != 3 {
		t.Errorf("NewLive: %v, %v", l, err)
	}
}

func TestRefreshNeverGoesBack(t *testing.T) {
	from := &loader{p: version(1)}
	l, err := policy.NewLive(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ read, want int64 }{{5, 5}, {4, 5}, {5, 5}, {1, 5}, {6, 6}, {5, 6}} {
		from.set(version(c.read), nil)
		if err := l.Refresh(t.Context()); err != nil || l.Current().Version != c.want {
			t.Errorf("read version %d: %d in force, %v; want %d", c.read, l.Current().Version, err, c.want)
		}
	}
	down := errors.New("no route")
	from.set(version(7), down)
	if err := l.Refresh(t.Context()); !errors.Is(err, down) || l.Current().Version != 6 {
		t.Errorf("failed read: %v, version %d in force; want what the loader said, and 6", err, l.Current().Version)
	}
}

func TestConcurrentRefreshKeepsTheNewest(t *testing.T) {
	from := &loader{p: version(1)}
	l, err := policy.NewLive(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	const newest = 200
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			last := int64(0)
			for v := range int64(newest) {
				if w == 0 {
					from.set(version(v+1), nil)
				}
				if err := l.Refresh(t.Context()); err != nil {
					t.Error(err)
				}
				if now := l.Current().Version; now < last {
					t.Errorf("version %d after %d", now, last)
				} else {
					last = now
				}
			}
		})
	}
	all.Wait()
	if got := l.Current().Version; got != newest {
		t.Errorf("version %d in force, want %d", got, newest)
	}
}

func TestFixedNeverChanges(t *testing.T) {
	p := version(4)
	l := policy.Fixed(p)
	p.Idle = 1
	if got := l.Current(); got.Version != 4 || got.Idle == 1 {
		t.Errorf("in force: %+v, want what was given", got)
	}
}

func TestFollowLogsChangesAndTheFirstFailure(t *testing.T) {
	from := &loader{p: version(1)}
	l, err := policy.NewLive(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	refresh := l.Follow(slog.New(slog.NewTextHandler(&log, nil)))
	down := errors.New("no route")
	for i, c := range []struct {
		read  int64
		err   error
		want  int64
		lines int // so far
	}{
		{1, nil, 1, 0},
		{2, nil, 2, 1},
		{3, down, 2, 2},
		{3, down, 2, 2},
		{3, nil, 3, 3},
		{4, down, 3, 4},
		{4, nil, 4, 5},
	} {
		from.set(version(c.read), c.err)
		if err := refresh(t.Context()); !errors.Is(err, c.err) {
			t.Errorf("step %d: %v, want %v", i, err, c.err)
		}
		if got := l.Current().Version; got != c.want {
			t.Errorf("step %d: version %d in force, want %d", i, got, c.want)
		}
		if n := strings.Count(log.String(), "\n"); n != c.lines {
			t.Errorf("step %d: %d lines, want %d:\n%s", i, n, c.lines, &log)
		}
	}
}

// A change that was made on this instance is in force before the next poll, which
// logs it all the same, and once.
func TestFollowLogsWhatSomebodyElseHasRefreshed(t *testing.T) {
	from := &loader{p: version(1)}
	l, err := policy.NewLive(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	poll := l.Follow(slog.New(slog.NewTextHandler(&log, nil)))
	from.set(version(2), nil)
	if err := l.Refresh(t.Context()); err != nil || l.Current().Version != 2 {
		t.Fatalf("version %d in force, %v", l.Current().Version, err)
	}
	for range 3 {
		if err := poll(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(log.String(), "version=2"); n != 1 {
		t.Errorf("%d lines:\n%s", n, &log)
	}
}

// An instance whose clock is ahead of the one that raised the bases goes on
// refusing what it has refused.
func TestRefreshKeepsWhatThisClockHasEnded(t *testing.T) {
	from := &loader{p: version(1)}
	l, err := policy.NewLive(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	now := noon
	l.Now = func() time.Time { return now }
	def := policy.Default()
	next := version(2)
	next.Idle, next.Absolute = 400*24*time.Hour, 400*24*time.Hour
	next.IdleBase, next.AbsoluteBase = noon.Add(-time.Hour-def.Idle), noon.Add(-time.Hour-def.Absolute) // by a clock an hour behind
	from.set(next, nil)
	if err := l.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	now = noon.Add(-24 * time.Hour)
	p := l.Current()
	if !p.Idled(noon.Add(-def.Idle), now) || !p.Expired(noon.Add(-def.Absolute), now) {
		t.Error("what was over by this clock lives again")
	}
	if p.Idled(noon.Add(time.Second-def.Idle), now) || p.Expired(noon.Add(time.Second-def.Absolute), now) {
		t.Error("what lived is over")
	}
}

func version(n int64) policy.Policy {
	p := policy.Default()
	p.Version = n
	return p
}

// A loader answers what it is told to.
type loader struct {
	mu  sync.Mutex
	p   policy.Policy
	err error
}

func (l *loader) set(p policy.Policy, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.p, l.err = p, err
}

func (l *loader) LoadPolicy(context.Context) (policy.Policy, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.p, l.err
}
