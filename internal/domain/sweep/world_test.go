//nolint:forbidigo // every Sleep is in a synctest bubble, where time is the test's own
package sweep_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/sweep"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// A world is a Sweeper, and all that it works with, in a bubble.
type world struct {
	*sweep.Sweeper
	store  *store
	runs   *runs
	policy *settings
	log    *testenv.Journal
	swept  []sweep.Report
	skips  int
	cancel context.CancelFunc
	done   chan struct{}
}

func newWorld() *world {
	w := &world{store: &store{}, runs: &runs{}, policy: &settings{p: policy.Default()}, log: &testenv.Journal{}}
	w.Sweeper = &sweep.Sweeper{
		Store: w.store, Runs: w.runs, Policy: w.policy, IDs: &ids{}, Instance: "here", Log: slog.New(slog.NewTextHandler(w.log, nil)),
		Swept:   func(r sweep.Report) { w.swept = append(w.swept, r) },
		Skipped: func() { w.skips++ },
	}
	return w
}

// run runs a Sweeper on a schedule.
func run(t *testing.T, schedule string) *world {
	t.Helper()
	w := newWorld()
	w.start(t, schedule)
	return w
}

func (w *world) start(t *testing.T, schedule string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w.cancel, w.done = cancel, make(chan struct{})
	w.schedule(schedule)
	go func() {
		defer close(w.done)
		w.Run(ctx)
	}()
	synctest.Wait()
}

// once runs a pass, which must begin.
func (w *world) once(t *testing.T) sweep.Report {
	t.Helper()
	r, err := w.Once(t.Context(), audit.Actor{})
	if err != nil {
		t.Fatalf("Once: %v", err)
	}
	return r
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
	if w.store.passes != passes {
		t.Errorf("%d passes, want %d: %s", w.store.passes, passes, when)
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

// ids count up. The parts of a pass run in goroutines of their own.
type ids struct{ last atomic.Int64 }

func idsAfter(last int64) *ids {
	i := &ids{}
	i.last.Store(last)
	return i
}

func (i *ids) Next(context.Context) (idworker.ID, error) { return idworker.ID(i.last.Add(1)), nil }

func (i *ids) NextN(_ context.Context, dst []idworker.ID) (int, error) {
	for k := range dst {
		dst[k] = idworker.ID(i.last.Add(1))
	}
	return len(dst), nil
}

// A store has logins to clear, all of them expired unless a test says
// otherwise.
type store struct {
	mu      sync.Mutex
	left    map[sweep.Stage][]sweep.Login // in the order of cursors; the cleared too
	endless bool                          // however much is cleared, there is more
	next    int64
	poison  map[idworker.ID]bool // tokens that refuse to be cleared
	each    time.Duration        // that it takes to clear a row
	more    time.Duration        // that each batch takes on top
	fail    func(call int) error // of Clear
	failing func() error         // of Head
	hold    chan struct{}        // Head waits for it
	clock   time.Duration        // how far the database's clock is off
	reduce  func(context.Context, sweep.Walk, int) (sweep.Walk, int, error)

	passes  int
	marks   []sweep.Marks
	sizes   []int   // of the batches
	looked  []int64 // the cursor of each look
	cleared map[idworker.ID]int
	events  map[idworker.ID]idworker.ID // by token
}

// fill adds logins of that stage, and returns them.
func (s *store) fill(stage sweep.Stage, n int) []sweep.Login {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left == nil {
		s.left, s.cleared, s.events = map[sweep.Stage][]sweep.Login{}, map[idworker.ID]int{}, map[idworker.ID]idworker.ID{}
	}
	first := len(s.left[stage])
	for range n {
		s.next++
		// Users come in another order than their logins.
		s.left[stage] = append(s.left[stage], sweep.Login{Row: idworker.ID(s.next*7919%104729 + 1), Token: idworker.ID(s.next), Value: s.next})
	}
	return slices.Clone(s.left[stage][first:])
}

// set changes what a test has set, while a pass may run.
func (s *store) set(f func()) { s.mu.Lock(); f(); s.mu.Unlock() }

func (s *store) holdBack(c chan struct{}) { s.mu.Lock(); s.hold = c; s.mu.Unlock() }

func (s *store) headFails(f func() error) { s.mu.Lock(); s.failing = f; s.mu.Unlock() }

func (s *store) Head(context.Context) (time.Time, idworker.ID, error) {
	s.mu.Lock()
	s.passes++
	hold, failing, off := s.hold, s.failing, s.clock
	s.mu.Unlock()
	if hold != nil {
		<-hold
	}
	if failing != nil {
		if err := failing(); err != nil {
			return time.Time{}, 0, err
		}
	}
	return time.Now().Add(off), 77, nil
}

func (s *store) Stale(_ context.Context, m sweep.Marks, from sweep.Cursor, limit int) ([]sweep.Login, sweep.Cursor, error) {
	s.mu.Lock()
	endless := s.endless
	s.mu.Unlock()
	if endless {
		s.fill(sweep.Expired, limit)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.marks = append(s.marks, m)
	s.looked = append(s.looked, from.Value)
	all := s.left[from.Stage]
	at, _ := slices.BinarySearchFunc(all, from, func(l sweep.Login, c sweep.Cursor) int {
		return cmp.Or(cmp.Compare(l.Value, c.Value), cmp.Compare(l.Row, c.Row+1))
	})
	var found []sweep.Login
	for ; at < len(all) && len(found) < limit; at++ {
		if s.cleared[all[at].Token] == 0 {
			found = append(found, all[at])
		}
	}
	if len(found) < limit {
		return found, sweep.Cursor{Stage: from.Stage + 1}, nil
	}
	return found, sweep.Cursor{Stage: from.Stage, Value: found[limit-1].Value, Row: found[limit-1].Row}, nil
}

func (s *store) Reduce(ctx context.Context, from sweep.Walk, rows int) (sweep.Walk, int, error) {
	if s.reduce != nil {
		return s.reduce(ctx, from, rows)
	}
	return sweep.Walk{Done: true}, 0, nil
}

func (s *store) Clear(ctx context.Context, _ sweep.Marks, _ sweep.Stage, logins []sweep.Login, events []idworker.ID) (int, error) {
	s.mu.Lock()
	s.sizes = append(s.sizes, len(logins))
	call, fail, took := len(s.sizes), s.fail, s.more+s.each*time.Duration(len(logins))
	s.mu.Unlock()
	if !slices.IsSortedFunc(logins, func(a, b sweep.Login) int { return cmp.Compare(a.Row, b.Row) }) {
		return 0, errors.New("the rows are not in the order of their keys")
	}
	if len(events) != 0 && len(events) != len(logins) {
		return 0, fmt.Errorf("%d events for %d logins", len(events), len(logins))
	}
	if fail != nil {
		if err := fail(call); err != nil {
			return 0, err
		}
	}
	const limit = 3 * time.Second
	time.Sleep(min(took, limit))
	if took > limit {
		return 0, context.DeadlineExceeded
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range logins {
		if s.poison[l.Token] {
			return 0, fmt.Errorf("trigger: %w", sweep.ErrUnclearable)
		}
	}
	n := 0
	for i, l := range logins {
		if s.cleared[l.Token] > 0 {
			continue // another was faster
		}
		n++
		s.cleared[l.Token]++
		if len(events) > 0 {
			s.events[l.Token] = events[i]
		}
	}
	return n, ctx.Err()
}

// runs has the lease and the history, by the clock of the bubble.
type runs struct {
	mu      sync.Mutex
	holder  idworker.ID
	until   time.Time
	cursor  sweep.Cursor
	kept    int
	reports []sweep.Report // that were worth it
	events  []audit.Event
	fail    error  // of Take
	taken   func() // called when Take has given the lease
}

func (b *runs) Take(_ context.Context, r sweep.Report, e *audit.Event, lease time.Duration) (sweep.Cursor, error) {
	from, err := b.take(r, e, lease)
	if err == nil && b.taken != nil {
		b.taken()
	}
	return from, err
}

func (b *runs) take(r sweep.Report, e *audit.Event, lease time.Duration) (sweep.Cursor, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fail != nil {
		return sweep.Cursor{}, b.fail
	}
	if time.Now().Before(b.until) {
		return sweep.Cursor{}, sweep.ErrRunning
	}
	b.holder, b.until = r.ID, time.Now().Add(lease)
	if e != nil {
		b.events = append(b.events, *e)
	}
	return b.cursor, nil
}

func (b *runs) Keep(_ context.Context, r sweep.Report, at sweep.Cursor, lease time.Duration) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.holder != r.ID {
		return sweep.ErrLost
	}
	b.until, b.cursor = time.Now().Add(lease), at
	b.kept++
	return nil
}

func (b *runs) Finish(_ context.Context, r sweep.Report, next sweep.Cursor) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.holder == r.ID {
		b.until, b.cursor = time.Time{}, next
	}
	if r.Worth() {
		b.reports = append(b.reports, r)
	}
	return nil
}
