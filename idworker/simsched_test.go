package idworker_test

import (
	"bytes"
	"cmp"
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"
)

// A scheduler lets one goroutine go on at a time, from one look at a clock or
// word with the store to the next, and picks which by its seed. In between a
// process may be killed. It works in a bubble only.
type scheduler struct {
	r  *rand.Rand
	on atomic.Bool

	mu     sync.Mutex
	begun  int
	order  map[int]int // in which goroutines began, by their number in the runtime
	parked []*parked   // in the order of their arrival
	fresh  int         // how many of the last ones arrived in this turn
}

// parked is a goroutine that waits for its turn.
type parked struct {
	life  *life
	order int
	turn  chan bool // false asks for the order
}

// yield is where a goroutine of a life may have to wait, or ends with it.
func (s *scheduler) yield(l *life) {
	if s.on.Load() {
		s.park(l)
	}
	l.clock.wait()
	if l.dead.Load() {
		runtime.Goexit()
	}
}

// begin starts a goroutine that yields.
func (s *scheduler) begin(run func()) {
	s.mu.Lock()
	s.begun++
	n := s.begun
	s.mu.Unlock()
	go func() {
		s.mu.Lock()
		s.order[goroutine()] = n
		s.mu.Unlock()
		run()
	}()
}

func (s *scheduler) park(l *life) {
	p := &parked{life: l, turn: make(chan bool)}
	s.mu.Lock()
	s.parked = append(s.parked, p)
	s.fresh++
	s.mu.Unlock()
	for !<-p.turn {
		s.mu.Lock()
		p.order = s.order[goroutine()]
		s.mu.Unlock()
	}
}

// goroutine is the running one's number, which only a trace shows.
func goroutine() int {
	var b [32]byte
	word := bytes.Fields(b[:runtime.Stack(b[:], false)])[1]
	n, _ := strconv.Atoi(string(word)) // 0 would only spoil the order
	return n
}

// next is a parked goroutine, or nil if there is none. Everybody stands still.
func (s *scheduler) next() *parked {
	s.mu.Lock()
	fresh := s.parked[len(s.parked)-s.fresh:]
	s.mu.Unlock()
	if len(fresh) > 1 {
		// Who of several arrived first was the runtime's choice, not the seed's.
		// To find out takes time, so it is not asked before there are several.
		for _, p := range fresh {
			p.turn <- false
		}
		synctest.Wait()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(fresh) > 1 {
		slices.SortFunc(fresh, func(a, b *parked) int { return cmp.Compare(a.order, b.order) })
	}
	s.fresh = 0
	if len(s.parked) == 0 {
		return nil
	}
	i := s.r.IntN(len(s.parked))
	p := s.parked[i]
	s.parked = slices.Delete(s.parked, i, i+1)
	return p
}

// settle waits until everybody stands still. Some time passes, so that what
// sleeps for a whole millisecond from here on has an end of its own.
func (s *scheduler) settle() {
	sleep(37)
	synctest.Wait()
}

// calm lets everybody who is left go on.
func (s *scheduler) calm() {
	s.on.Store(false)
	for {
		s.settle()
		p := s.next()
		if p == nil {
			return
		}
		p.turn <- true
	}
}

// do runs what may wait for a clock or the store. If nothing else runs there is
// nothing to schedule.
func (w *world) do(l *life, run func()) {
	if !w.running {
		run()
		return
	}
	w.all([]task{{l, run}}, false)
}

// A task is something to do in a life, or in none.
type task struct {
	life *life
	run  func()
}

// all runs tasks at the same time, and returns when all have ended. Meanwhile
// processes may be killed, if kill says so, and anything may take its time.
func (w *world) all(tasks []task, kill bool) {
	s := w.sched
	s.on.Store(true)
	var left atomic.Int64
	left.Store(int64(len(tasks)))
	for _, task := range tasks {
		run := func() {
			defer left.Add(-1)
			s.park(task.life)
			task.run()
		}
		if len(tasks) == 1 {
			go run() // the first of all, and unknown costs nothing
		} else {
			s.begin(run)
		}
		s.settle() // or the runtime would choose their order
	}
	for wait := time.Millisecond; left.Load() > 0; s.settle() {
		p := s.next()
		switch {
		case p == nil: // until the first timer
			sleep(wait)
			wait = min(2*wait, time.Second)
			continue
		case !kill:
		case w.r.IntN(100) == 0:
			p.life.dead.Store(true)
		case w.r.IntN(8) == 0:
			sleep(time.Duration(w.r.Int64N(int64(400 * time.Millisecond))))
		case w.r.IntN(12) == 0: // another owner takes a number
			_, _ = w.store.acquire(nil, time.Now().Add(w.offset()), 100*time.Millisecond)
		}
		wait = time.Millisecond
		p.turn <- true
	}
	if !w.running {
		s.calm()
	}
}

// together has calls under one or more lives run at the same time.
func (w *world) together(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	var tasks []task
	busy := w.procs[w.r.IntN(len(w.procs))]
	for range 2 + w.r.IntN(4) {
		p := busy
		if w.r.IntN(4) == 0 {
			p = w.procs[w.r.IntN(len(w.procs))]
		}
		if p.life == nil || time.Now().Before(p.paused) {
			continue
		}
		p.clock.stop(false)
		c, ends := w.caller(p.life, w.r.Uint64()), w.r.IntN(12) == 0
		tasks = append(tasks, task{p.life, func() { c.some(ctx, ends) }})
	}
	w.all(tasks, true)
	for _, p := range w.procs {
		if p.life != nil && (p.life.dead.Load() || p.life.closed.Load()) {
			p.kill()
		}
	}
}

// some is what one of several callers does.
func (c *caller) some(ctx context.Context, ends bool) {
	for range 1 + c.r.IntN(6) {
		if c.l.dead.Load() {
			return
		}
		if c.r.IntN(4) == 0 {
			c.many(ctx, 1+c.r.IntN(12))
		} else {
			c.one(ctx)
		}
	}
	if ends && c.l.closed.CompareAndSwap(false, true) {
		_ = c.l.w.Close(ctx)
	}
}
