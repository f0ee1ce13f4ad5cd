package idworker_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/flakepass/flakepass/idworker"
)

// A world is a few processes on one store. Each process is on a machine of its
// own, whose clock may show anything. All that happens follows from the seed.
type world struct {
	r       *rand.Rand
	store   *store
	sched   *scheduler
	options idworker.Options
	running bool // lives have a Run
	procs   []*proc

	mu     sync.Mutex
	seen   map[idworker.ID]bool
	last   idworker.ID // the largest of all
	digest uint64      // of all that was minted, in order
	err    error       // the first promise that was broken
}

// A proc is a process, in one of its lives or between two.
type proc struct {
	clock  *machine
	life   *life
	paused time.Time // stopped until then: no SIGCONT comes before
}

func newWorld(seed uint64, bug string) *world {
	r := rand.New(rand.NewPCG(seed, 1))
	w := &world{
		r: r, store: newStore(1 + r.IntN(3)), sched: &scheduler{r: rand.New(rand.NewPCG(seed, 2)), order: make(map[int]int)},
		running: r.IntN(16) == 0, seen: make(map[idworker.ID]bool, 1024),
		options: idworker.Options{
			Layout: anyLayout(r),
			Window: []time.Duration{0, 0, 200 * time.Millisecond, time.Second}[r.IntN(4)],
			Lead:   []time.Duration{0, 0, time.Millisecond, 100 * time.Millisecond}[r.IntN(4)],
			Start:  idworker.SequenceStart(r.IntN(4)),
		},
	}
	if r.IntN(2) == 0 {
		w.options.Clock = idworker.ClockPolicy(r.IntN(4))
	}
	w.store.any, w.store.bug = rand.New(rand.NewPCG(seed, 3)), bug
	w.store.fault = w.fault
	for range 1 + r.IntN(3) {
		p := &proc{clock: &machine{sched: w.sched}}
		p.clock.set(w.offset())
		w.procs = append(w.procs, p)
	}
	return w
}

// anyLayout has few sequences: ticks run full, and neighbours' values collide.
func anyLayout(r *rand.Rand) idworker.Layout {
	l := idworker.Layout{
		Epoch: time.UnixMilli(0), Unit: []time.Duration{1, 1, 10, 25}[r.IntN(4)] * time.Millisecond,
		TimeBits: 51, SequenceBits: uint8(r.IntN(5)), WorkerLast: r.IntN(2) == 0,
	}
	l.DatacenterBits = uint8(r.IntN(3))
	if r.IntN(16) == 0 { // it ends soon
		l.TimeBits = 20
		l.Epoch = time.Now().Add(time.Duration(r.IntN(20_000))*time.Millisecond - l.Unit<<20).Truncate(time.Millisecond)
	}
	l.WorkerBits = 63 - l.TimeBits - l.DatacenterBits - l.SequenceBits
	return l
}

// fault is of one step of the store: it fails, or succeeds and its answer is lost.
func (w *world) fault() (before, after error) {
	switch w.store.any.IntN(12) {
	case 0:
		return errStore, nil
	case 1:
		return nil, errStore
	}
	return nil, nil
}

// offset is how wrong a clock is: hours, or hardly at all.
func (w *world) offset() time.Duration {
	switch w.r.IntN(10) {
	case 0:
		return time.Duration(w.r.Int64N(int64(48*time.Hour))) - 24*time.Hour
	case 1, 2:
		return time.Duration(w.r.Int64N(int64(20*time.Second))) - 10*time.Second
	}
	return time.Duration(w.r.Int64N(int64(400*time.Millisecond))) - 200*time.Millisecond
}

// run lives through the steps and ends every life. It returns the first promise
// that was broken.
func (w *world) run(ctx context.Context, steps int) error {
	for range steps {
		w.step(ctx, w.procs[w.r.IntN(len(w.procs))])
		if w.err != nil {
			break
		}
	}
	for _, p := range w.procs {
		p.kill()
	}
	w.sched.calm()
	return w.err
}

func (w *world) step(ctx context.Context, p *proc) {
	if time.Now().Before(p.paused) {
		return
	}
	if p.life == nil {
		p.life = w.begin(ctx, p)
		return
	}
	switch n := w.r.IntN(32); {
	case n == 0: // kill -9
		p.kill()
		p.clock.set(w.offset())
	case n == 1:
		w.close(ctx, p.life) // whether its answer arrives or not
		p.life = nil
	case n <= 3:
		p.clock.set(w.offset())
	case n == 4: // a collection of garbage, SIGSTOP, a suspended machine
		p.paused = time.Now().Add(w.long())
		p.clock.stop(true)
	case n == 5: // everybody
		w.pass(w.long())
	case n == 6: // the disk is full, the store is down
		w.store.outage(time.Now().Add(time.Duration(w.r.Int64N(int64(8 * time.Second)))))
	case n <= 9:
		w.pass(time.Duration(w.r.Int64N(int64(200 * time.Millisecond))))
	case n <= 11:
		w.together(ctx)
	default:
		p.clock.stop(false)
		c := w.caller(p.life, w.r.Uint64())
		w.do(p.life, func() {
			c.mint(ctx)
			if got := c.l.w.Stats().Minted; got != c.l.minted {
				w.broken("%d minted by the count, and %d by hand", got, c.l.minted)
			}
		})
	}
}

// pass lets time pass for everybody.
func (w *world) pass(d time.Duration) {
	w.do(nil, func() { sleep(d) })
}

// long is past any window and any patience. With Run it is short, or Run would
// be all that happens.
func (w *world) long() time.Duration {
	if w.running {
		return time.Duration(w.r.Int64N(int64(5 * time.Second)))
	}
	return time.Duration(w.r.Int64N(int64(2 * time.Hour)))
}

// note holds an ID that a call returned to every promise.
func (w *world) note(l *life, id, before, floor idworker.ID) {
	layout := w.options.Layout
	p := layout.Decompose(id)
	from := layout.UnixMilli(id)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.seen[id]:
		w.broken("ID %d twice: %+v", id, p)
	case id <= before:
		w.broken("ID %d, and %d had been returned before the call", id, before)
	case id <= floor:
		w.broken("ID %d with the floor %d", id, floor)
	case !w.store.lentTo(l, int(p.Datacenter<<layout.WorkerBits|p.Worker), from+layout.Unit.Milliseconds()):
		w.broken("ID %d was never lent to its worker: %+v", id, p)
	}
	w.seen[id] = true
	w.digest = w.digest*31 + uint64(id)
	w.last = max(w.last, id)
	l.last = max(l.last, id)
	l.minted++
}

// largest is the largest ID returned in a life, or of all.
func (w *world) largest(l *life) idworker.ID {
	w.mu.Lock()
	defer w.mu.Unlock()
	if l == nil {
		return w.last
	}
	return l.last
}

// broken is called with the lock held, or alone.
func (w *world) broken(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

// expected errors are the ones that a call may fail with in such a world.
func expected(err error) bool {
	for _, e := range []error{
		idworker.ErrNoGrant, idworker.ErrTooFarAhead, idworker.ErrClockBehind, idworker.ErrExhausted,
		context.DeadlineExceeded,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

func sleep(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // of the bubble's clock
}
