package idworker_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/idworker"
)

// A world is a few processes with clocks of their own on one store. Everything
// it does follows from the seed.
type world struct {
	r      *rand.Rand
	store  *store
	layout idworker.Layout
	clock  idworker.ClockPolicy
	start  idworker.SequenceStart
	procs  []*proc
	seen   map[idworker.ID]bool
	last   idworker.ID // the largest of all
}

// A proc is a process, in one of its lives or between two.
type proc struct {
	offset time.Duration
	w      *idworker.Worker
	last   idworker.ID // of this life
	minted uint64      // in this life
}

func newWorld(seed uint64, bug string) *world {
	r := rand.New(rand.NewPCG(seed, 1))
	// Two bits of sequence: ticks run full, and values of neighbours collide.
	layout := idworker.Layout{
		Epoch: time.UnixMilli(0), Unit: time.Millisecond, TimeBits: 51, WorkerBits: 10, SequenceBits: 2,
	}
	if seed%3 == 0 {
		layout.Unit = 10 * time.Millisecond
	}
	layout.WorkerLast = r.IntN(2) == 0
	w := &world{
		r: r, store: newStore(1 + r.IntN(3)), layout: layout, seen: make(map[idworker.ID]bool),
		start: idworker.SequenceStart(r.IntN(4)),
	}
	if seed%2 == 0 {
		w.clock = idworker.ClockPolicy(r.IntN(4))
	}
	w.store.any, w.store.bug = r, bug
	w.store.fault = func() (before, after error) {
		switch r.IntN(12) {
		case 0:
			return errStore, nil
		case 1:
			return nil, errStore // it happened, and nobody is told
		}
		return nil, nil
	}
	for range 3 {
		w.procs = append(w.procs, &proc{offset: w.offset()})
	}
	return w
}

// offset is how wrong a clock is: hours, or hardly at all.
func (w *world) offset() time.Duration {
	if w.r.IntN(10) == 0 {
		return time.Duration(w.r.Int64N(int64(2*time.Hour))) - time.Hour
	}
	return time.Duration(w.r.Int64N(int64(400*time.Millisecond))) - 200*time.Millisecond
}

func (w *world) run(ctx context.Context, steps int) error {
	for range steps {
		if err := w.step(ctx, w.procs[w.r.IntN(len(w.procs))]); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) step(ctx context.Context, p *proc) error {
	w.store.now = func() time.Time { return time.Now().Add(p.offset) } // the store of the process's host
	if p.w == nil {
		worker, err := idworker.Open(ctx, w.store, idworker.Options{
			Layout: w.layout, Clock: w.clock, Start: w.start,
			Now: func() time.Time { return time.Now().Add(p.offset) },
		})
		if err == nil {
			p.w, p.last, p.minted = worker, 0, 0
		}
		return nil
	}
	switch n := w.r.IntN(20); {
	case n == 0: // kill -9
		p.w = nil
		p.offset = w.offset()
	case n == 1:
		_ = p.w.Close(ctx) // told or not
		p.w = nil
	case n == 2: // the clock steps, as Options forbid
		p.offset = w.offset()
	case n < 5:
		time.Sleep(time.Duration(w.r.Int64N(int64(200 * time.Millisecond)))) //nolint:forbidigo // of the bubble's clock
	default:
		if err := w.mint(ctx, p); err != nil {
			return err
		}
		if got := p.w.Stats().Minted; got != p.minted {
			return fmt.Errorf("%d minted by the count, and %d by hand", got, p.minted)
		}
	}
	return nil
}

func (w *world) mint(ctx context.Context, p *proc) error {
	ctx, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	if w.r.IntN(4) == 0 {
		return w.mintMany(ctx, p)
	}
	for range 1 + w.r.IntN(40) {
		var floor idworker.ID
		mint := p.w.Next
		if w.r.IntN(20) == 0 {
			floor = w.last
			mint = func(ctx context.Context) (idworker.ID, error) { return p.w.NextAfter(ctx, floor) }
		}
		id, err := mint(ctx)
		if err != nil {
			if !expected(err) {
				return fmt.Errorf("unexpected error: %w", err)
			}
			return nil
		}
		if err := w.note(p, id, floor); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) mintMany(ctx context.Context, p *proc) error {
	ids := make([]idworker.ID, 1+w.r.IntN(40))
	n, err := p.w.NextN(ctx, ids)
	if err != nil && !expected(err) {
		return fmt.Errorf("unexpected error: %w", err)
	}
	for _, id := range ids[:n] {
		if err := w.note(p, id, 0); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) note(p *proc, id, floor idworker.ID) error {
	number := w.layout.Decompose(id).Worker
	end := w.layout.UnixMilli(id) + w.layout.Unit.Milliseconds()
	switch {
	case w.seen[id]:
		return fmt.Errorf("ID %d twice", id)
	case id <= p.last || id <= floor:
		return fmt.Errorf("ID %d after %d, floor %d", id, p.last, floor)
	case end > w.store.highest[number]:
		return fmt.Errorf("ID %d of number %d lies beyond every fence", id, number)
	}
	p.minted++
	w.seen[id], p.last, w.last = true, id, max(id, w.last)
	return nil
}

func expected(err error) bool {
	for _, e := range []error{idworker.ErrNoGrant, idworker.ErrTooFarAhead, idworker.ErrClockBehind, context.DeadlineExceeded} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

func TestNoIDTwiceWhateverHappens(t *testing.T) {
	seeds := uint64(2000)
	if testing.Short() {
		seeds = 300
	}
	synctest.Test(t, func(t *testing.T) {
		minted := 0
		for seed := range seeds {
			w := newWorld(seed, "")
			if err := w.run(t.Context(), 150); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			minted += len(w.seen)
		}
		t.Logf("%d IDs, none twice", minted)
		if minted < 100*int(seeds) {
			t.Errorf("only %d IDs in %d seeds: nothing was tested", minted, seeds)
		}
	})
}

// TestSimulationFindsBrokenLenders shows that the simulation can fail.
func TestSimulationFindsBrokenLenders(t *testing.T) {
	for _, bug := range []string{
		"starts at now", "token of the host", "fence behind", "extends for anybody",
		"releases for anybody", "hands back everything",
	} {
		t.Run(bug, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for seed := range uint64(2000) {
					if err := newWorld(seed, bug).run(t.Context(), 150); err != nil {
						t.Logf("seed %d: %v", seed, err)
						return
					}
				}
				t.Error("not found")
			})
		})
	}
}
