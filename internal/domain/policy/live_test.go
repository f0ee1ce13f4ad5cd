package policy_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/policy"
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

func TestFollowAppliesAndLogsEachChangeOnce(t *testing.T) {
	l, err := policy.NewLive(t.Context(), &loader{p: version(1)})
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	apply := l.Follow(slog.New(slog.NewTextHandler(&log, nil)))
	for i, c := range []struct {
		read, want int64
		lines      int // so far
	}{{1, 1, 0}, {2, 2, 1}, {2, 2, 1}, {1, 2, 1}, {4, 4, 2}, {3, 4, 2}, {5, 5, 3}} {
		p := version(c.read)
		p.UpdatedBy = "ada" // the log has no names
		apply(t.Context(), p)
		if got := l.Current().Version; got != c.want {
			t.Errorf("step %d: version %d in force, want %d", i, got, c.want)
		}
		if n := strings.Count(log.String(), "\n"); n != c.lines {
			t.Errorf("step %d: %d lines, want %d:\n%s", i, n, c.lines, &log)
		}
	}
	if strings.Contains(log.String(), "ada") {
		t.Errorf("the log has a name:\n%s", &log)
	}
}

// A change that was made on this instance is in force before the next poll, which
// logs it all the same, and once.
func TestFollowLogsAPolicyOfAnEarlierRefresh(t *testing.T) {
	from := &loader{p: version(1)}
	l, err := policy.NewLive(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	apply := l.Follow(slog.New(slog.NewTextHandler(&log, nil)))
	from.set(version(2), nil)
	if err := l.Refresh(t.Context()); err != nil || l.Current().Version != 2 {
		t.Fatalf("version %d in force, %v", l.Current().Version, err)
	}
	for range 3 {
		apply(t.Context(), version(2))
	}
	if n := strings.Count(log.String(), "version=2"); n != 1 {
		t.Errorf("%d lines:\n%s", n, &log)
	}
}

// An instance that raised the bases by a clock of its own would refuse what
// another accepts.
func TestBasesStayAsTheyWereRead(t *testing.T) {
	from := &loader{p: version(1)}
	l, err := policy.NewLive(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	next := version(2)
	next.IdleBase, next.AbsoluteBase = noon.AddDate(-10, 0, 0), noon.AddDate(-11, 0, 0) // by a clock that is far behind
	from.set(next, nil)
	if err := l.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p := l.Current(); !p.IdleBase.Equal(next.IdleBase) || !p.AbsoluteBase.Equal(next.AbsoluteBase) {
		t.Errorf("refreshed: bases %v and %v, want %v and %v", p.IdleBase, p.AbsoluteBase, next.IdleBase, next.AbsoluteBase)
	}
	next.Version = 3
	l.Apply(next)
	if p := l.Current(); p.Version != 3 || !p.IdleBase.Equal(next.IdleBase) || !p.AbsoluteBase.Equal(next.AbsoluteBase) {
		t.Errorf("applied: %+v", p)
	}
}

func version(n int64) policy.Policy {
	p := policy.Default()
	p.Version = n
	return p
}

// A loader returns what the test has set.
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

// TestLowerLimitIsToldAlsoIfItWasMissed: between two policies that an instance reads there
// may have been one with a higher limit, by which another instance has read sessions.
func TestLowerLimitIsToldAlsoIfItWasMissed(t *testing.T) {
	// after is the last of policies that followed the first one, with those numbers of sessions.
	after := func(numbers ...int) policy.Policy {
		p := version(1)
		p.MaxSessions = numbers[0]
		for _, n := range numbers[1:] {
			next := p
			next.MaxSessions = n
			p = p.Succeed(next, time.Unix(1e9, 0))
		}
		return p
	}
	for _, c := range []struct {
		name      string
		from, to  policy.Policy
		wantsTold bool
	}{
		{"lower", after(3), after(3, 2), true},
		{"higher", after(2), after(2, 3), false},
		{"the same", after(2), after(2, 2), false},
		{"one between was higher", after(1), after(1, 3, 2), true},
		{"one between was lower", after(3), after(3, 1, 3), true},
		{"one between was the same", after(3), after(3, 3, 3), false},
		{"a lower one was known before", after(3, 2), after(3, 2, 2, 2), false},
	} {
		l, told := policy.Fixed(c.from), false
		l.Lowered = func() { told = l.Current().Version == c.from.Version }
		l.Apply(c.to)
		if told != c.wantsTold {
			t.Errorf("%s: told before it is in force: %v, want %v", c.name, told, c.wantsTold)
		}
	}
}

// TestPolicyThatIsSetAgainAfterALossIsInForce: a failover loses versions 2 and 3, and an operator sets the policy
// anew. It is version 2 once more, and a running instance takes it over; of the version that was lost also
// if the clock of the new server is behind.
func TestPolicyThatIsSetAgainAfterALossIsInForce(t *testing.T) {
	first := time.Unix(1_800_000_000, 0)
	for _, c := range []struct {
		lost  int64
		after time.Duration
	}{{2, time.Minute}, {3, time.Minute}, {2, -time.Minute}} {
		lost := c.lost
		from := &loader{p: version(1)}
		l, err := policy.NewLive(t.Context(), from)
		if err != nil {
			t.Fatal(err)
		}
		gone, again := version(lost), version(2)
		gone.Idle, gone.UpdatedAt = 20*24*time.Hour, first
		again.Idle, again.UpdatedAt = time.Hour, first.Add(c.after)
		for _, p := range []policy.Policy{gone, again} {
			from.set(p, nil)
			if err := l.Refresh(t.Context()); err != nil || l.Current().Idle != p.Idle {
				t.Errorf("version %d was lost: idle %v in force, %v; want %v", lost, l.Current().Idle, err, p.Idle)
			}
		}
	}
}
