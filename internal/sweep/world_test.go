//nolint:forbidigo // every Sleep is in a synctest bubble, where time is the test's own
package sweep_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/internal/policy"
	"github.com/flakepass/flakepass/internal/sweep"
	"github.com/flakepass/flakepass/internal/testenv"
)

// A world is a Sweeper that runs in a bubble.
type world struct {
	store  *store
	policy *settings
	log    *testenv.Journal
	swept  []pass
	cancel context.CancelFunc
	done   chan struct{}
}

type pass struct {
	n   int
	err error
}

func run(t *testing.T, schedule string) *world {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &world{store: &store{}, policy: &settings{}, log: &testenv.Journal{}, cancel: cancel, done: make(chan struct{})}
	w.schedule(schedule)
	s := &sweep.Sweeper{
		Store: w.store, Policy: w.policy, Log: slog.New(slog.NewTextHandler(w.log, nil)),
		Swept: func(n int, _ time.Duration, err error) { w.swept = append(w.swept, pass{n, err}) },
	}
	go func() {
		defer close(w.done)
		s.Run(ctx)
	}()
	synctest.Wait()
	return w
}

func (w *world) wait(d time.Duration) { time.Sleep(d); synctest.Wait() }

func (w *world) stop() { w.cancel(); <-w.done }

func (w *world) schedule(spec string) {
	p := policy.Default()
	p.Schedule = spec
	w.policy.mu.Lock()
	defer w.policy.mu.Unlock()
	w.policy.p = p
}

func (w *world) want(t *testing.T, passes int, when string) {
	t.Helper()
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	if w.store.calls != passes {
		t.Errorf("%d passes, want %d: %s", w.store.calls, passes, when)
	}
}

type settings struct {
	mu sync.Mutex
	p  policy.Policy
}

func (s *settings) Current() *policy.Policy {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.p
	return &p
}

// A store has so many logins to clear.
type store struct {
	mu           sync.Mutex
	left         int
	calls        int
	fail         func(call int) error
	hold         chan struct{}
	issued, seen time.Time
}

func (s *store) refill(n int) { s.mu.Lock(); s.left = n; s.mu.Unlock() }

func (s *store) holdBack(c chan struct{}) { s.mu.Lock(); s.hold = c; s.mu.Unlock() }

func (s *store) failWith(f func(int) error) { s.mu.Lock(); s.fail = f; s.mu.Unlock() }

func (s *store) Sweep(_ context.Context, issued, seen time.Time, limit int) (int, error) {
	s.mu.Lock()
	s.calls++
	call, hold, fail := s.calls, s.hold, s.fail
	s.issued, s.seen = issued, seen
	s.mu.Unlock()
	if hold != nil {
		<-hold
	}
	if fail != nil {
		if err := fail(call); err != nil {
			return 3, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(limit, s.left)
	s.left -= n
	return n, nil
}
