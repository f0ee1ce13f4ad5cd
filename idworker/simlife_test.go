package idworker_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flakepass/flakepass/idworker"
)

// A machine is a clock that can be set, and that stops the goroutine that reads it.
type machine struct {
	sched  *scheduler
	offset atomic.Int64
	held   atomic.Bool
	mu     sync.Mutex
	cont   chan struct{} // closed by SIGCONT
}

func (m *machine) set(d time.Duration) { m.offset.Store(int64(d)) }

func (m *machine) show() time.Time { return time.Now().Add(time.Duration(m.offset.Load())) }

// stop stops what runs beside the calls, or lets it go on.
func (m *machine) stop(on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case on && !m.held.Load():
		m.cont = make(chan struct{})
	case !on && m.held.Load():
		close(m.cont)
	}
	m.held.Store(on)
}

func (m *machine) wait() {
	if m.held.Load() {
		m.mu.Lock()
		cont := m.cont
		m.mu.Unlock()
		<-cont
	}
}

// A life of a process: from its start to its end, however it ends.
type life struct {
	w      *idworker.Worker
	clock  *machine
	dead   atomic.Bool
	closed atomic.Bool
	cancel context.CancelFunc // ends Run

	lent   []*lent     // by the store, under its lock
	last   idworker.ID // the largest returned
	minted uint64
}

func (p *proc) kill() {
	if p.life != nil {
		p.life.dead.Store(true)
		p.life.cancel()
		p.life = nil
	}
	p.clock.stop(false)
}

// begin starts a life, or returns nil if it cannot be opened.
func (w *world) begin(ctx context.Context, p *proc) *life {
	ctx, cancel := context.WithCancel(ctx)
	l := &life{clock: p.clock, cancel: cancel}
	o := w.options.Repeatable(rand.New(rand.NewPCG(w.r.Uint64(), 4)).Uint64)
	o.Wall = func() time.Time {
		w.sched.yield(l)
		return p.clock.show()
	}
	// Either what Options ask for, a clock that counts on from what it showed at
	// the beginning; or one that steps in spite of them.
	o.Now = o.Wall
	if w.r.IntN(2) == 0 {
		base, start := p.clock.show(), time.Now()
		o.Now = func() time.Time {
			w.sched.yield(l)
			return base.Add(time.Since(start))
		}
	}
	patience, cancelOpen := context.WithTimeout(ctx, 10*time.Second)
	defer cancelOpen()
	var (
		worker *idworker.Worker
		err    error
	)
	w.do(l, func() { worker, err = idworker.Open(patience, &wire{store: w.store, life: l, sched: w.sched}, o) })
	if err != nil {
		cancel()
		return nil
	}
	l.w = worker
	if w.running {
		w.sched.begin(func() { _ = worker.Run(ctx) })
	}
	return l
}

// close ends a life in good order, as far as the store lets it.
func (w *world) close(ctx context.Context, l *life) {
	l.clock.stop(false)
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	w.do(l, func() {
		_ = l.w.Close(ctx)
		if id, err := l.w.Next(ctx); !errors.Is(err, idworker.ErrClosed) {
			w.broken("closed, and Next says %d, %v", id, err)
		}
	})
	l.cancel()
}

// A caller makes calls under one life.
type caller struct {
	*world
	r *rand.Rand
	l *life
}

func (w *world) caller(l *life, seed uint64) *caller {
	return &caller{world: w, r: rand.New(rand.NewPCG(seed, 5)), l: l}
}

func (c *caller) mint(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	if c.r.IntN(4) == 0 {
		c.many(ctx, 1+c.r.IntN(40))
		return
	}
	for range 1 + c.r.IntN(30) {
		if !c.one(ctx) {
			return
		}
	}
}

// one call; it reports whether there was an ID.
func (c *caller) one(ctx context.Context) bool {
	var floor idworker.ID
	mint := c.l.w.Next
	if c.r.IntN(20) == 0 {
		floor = c.largest(nil)
		mint = func(ctx context.Context) (idworker.ID, error) { return c.l.w.NextAfter(ctx, floor) }
	}
	c.sched.yield(c.l)
	before := c.largest(c.l)
	id, err := mint(ctx)
	if !c.answered(err) {
		return false
	}
	c.note(c.l, id, before, floor)
	return true
}

func (c *caller) many(ctx context.Context, n int) {
	ids := make([]idworker.ID, n)
	c.sched.yield(c.l)
	before := c.largest(c.l)
	n, err := c.l.w.NextN(ctx, ids)
	c.answered(err)
	if c.l.dead.Load() {
		return // no caller is left to use them
	}
	for _, id := range ids[:n] {
		c.note(c.l, id, before, 0)
		before = id
	}
}

func (c *caller) answered(err error) bool {
	if c.l.dead.Load() {
		return false
	}
	closed := c.l.closed.Load() && errors.Is(err, idworker.ErrClosed)
	if err != nil && !closed && !expected(err) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.broken("unexpected error: %v", err)
	}
	return err == nil
}
