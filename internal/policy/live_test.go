package policy_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
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

func TestWatchFollowsChangesAndSurvivesFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := &loader{p: version(1)}
		l, err := policy.NewLive(t.Context(), from)
		if err != nil {
			t.Fatal(err)
		}
		var log strings.Builder
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { l.Watch(ctx, time.Second, slog.New(slog.NewTextHandler(&log, nil))) })
		wait := func(d time.Duration) { time.Sleep(d); synctest.Wait() } //nolint:forbidigo // of the bubble's clock

		from.set(version(2), nil)
		wait(time.Second)
		if got := l.Current().Version; got != 2 {
			t.Errorf("a second after a change: version %d, want 2", got)
		}
		from.set(version(3), errors.New("no route"))
		wait(10 * time.Second)
		if got := l.Current().Version; got != 2 {
			t.Errorf("while it cannot be read: version %d, want 2", got)
		}
		from.set(version(3), nil)
		wait(time.Second)
		from.set(version(3), errors.New("no route"))
		wait(5 * time.Second)
		cancel()
		running.Wait()
		if got := l.Current().Version; got != 3 {
			t.Errorf("once it can be read: version %d, want 3", got)
		}
		if n := strings.Count(log.String(), "not read"); n != 2 {
			t.Errorf("%d lines for two rows of failures, want 2:\n%s", n, &log)
		}
		if n := strings.Count(log.String(), "policy changed"); n != 2 {
			t.Errorf("%d lines for two changes, want 2:\n%s", n, &log)
		}
		// Nothing is asked for after the end.
		asked := from.asked()
		time.Sleep(time.Minute) //nolint:forbidigo // of the bubble's clock
		if from.asked() != asked {
			t.Error("Watch goes on after its context has ended")
		}
	})
}

func version(n int64) policy.Policy {
	p := policy.Default()
	p.Version = n
	return p
}

// A loader answers what it is told to.
type loader struct {
	mu    sync.Mutex
	p     policy.Policy
	err   error
	reads int
}

func (l *loader) set(p policy.Policy, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.p, l.err = p, err
}

func (l *loader) asked() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reads
}

func (l *loader) LoadPolicy(context.Context) (policy.Policy, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reads++
	return l.p, l.err
}
