package idworker

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// Lead is how far ahead of the clock an ID may be when it is returned. A
	// burst may use up that much of the future at once; then minting keeps to
	// the pace of the clock, asleep.
	Lead = 10 * time.Millisecond

	// MaxWait is the longest that minting waits for the clock. Whatever would
	// take longer fails at once with [ErrTooFarAhead].
	MaxWait = 5 * time.Second
)

// What [Worker.Next] and [Worker.NextAfter] fail with, beside the error of a
// context.
var (
	// ErrClosed says that the Worker is closed.
	ErrClosed = errors.New("idworker: worker is closed")

	// ErrNoGrant says that the range is used up and the Lender did not extend
	// it in time. The Lender's error is wrapped beside it.
	ErrNoGrant = errors.New("idworker: no range to mint from")

	// ErrTooFarAhead says that the next ID, or the floor it has to exceed, is
	// more than MaxWait ahead of this machine's clock. Some clock is or was
	// wrong.
	ErrTooFarAhead = errors.New("idworker: too far ahead of the clock")

	// ErrExhausted says that the layout has no IDs for instants this late.
	ErrExhausted = errors.New("idworker: the layout has no IDs left")
)

// Next mints an ID greater than every ID that this Worker minted before the
// call. It allocates nothing unless it has to wait.
//
// It waits, asleep and for at most [MaxWait], when minting is ahead of the
// clock by more than [Lead]; it asks the Lender itself, within ctx, when nobody
// has extended the range in time. A lost number is replaced by another. It
// fails with [ErrClosed], [ErrNoGrant] (with [ErrLost] wrapped in it if the
// number was lost and no other could be had), [ErrTooFarAhead] or
// [ErrExhausted], or the error of ctx.
func (w *Worker) Next(ctx context.Context) (ID, error) {
	now := w.clock.tick()
	v := w.word.Add(1)
	// Always after the value is taken: see publish.
	if g := w.grant.Load(); g.holds(v) {
		switch ahead := w.tickOf(v) - now; {
		case ahead < 0:
			// Older than the clock: dropped, and the word moves up.
		case ahead <= w.leadTick:
			return w.id(g, v), nil
		default:
			return w.keep(ctx, g, v)
		}
	}
	return w.mint(ctx, v, 0)
}

// NextAfter is [Worker.Next] with an ID greater than floor, which may come from
// a worker whose clock is ahead: then it waits, asleep, until the clock has
// caught up to within [Lead]. It fails with [ErrTooFarAhead] at once if that
// takes longer than [MaxWait]. Others go on minting meanwhile.
func (w *Worker) NextAfter(ctx context.Context, floor ID) (ID, error) {
	id, err := w.Next(ctx)
	if err != nil || id > floor {
		return id, err
	}
	least := int64(floor>>w.shift) + 1
	// Nothing is taken before it is due, or everybody would have to wait.
	if err := w.wait(ctx, least); err != nil {
		return 0, err
	}
	return w.mint(ctx, uint64(id)+1, least)
}

// mint moves the word up to the clock, to least, and into the range, and takes
// a value there. The low bits of turn are the sequence to go on with in a new
// tick: a sequence that started at 0 in each would, at less than one ID in a
// tick, put all IDs into one class of any power of two.
func (w *Worker) mint(ctx context.Context, turn uint64, least int64) (ID, error) {
	for {
		g := w.grant.Load()
		v, err := w.take(g, turn, least)
		if err != nil {
			return 0, err
		}
		if v == 0 {
			if err := w.renew(ctx, g); err != nil {
				return 0, err
			}
			continue
		}
		if g := w.grant.Load(); g.holds(v) {
			return w.keep(ctx, g, v)
		}
	}
}

// take returns the next value, or 0 if it would lie behind the end of g.
func (w *Worker) take(g *grant, turn uint64, least int64) (uint64, error) {
	for {
		last := w.word.Load()
		if last >= closedWord {
			return 0, ErrClosed
		}
		v := last + 1
		if tick := max(w.clock.tick(), least, w.tickOf(g.lo)); w.tickOf(last) < tick {
			// Half of each tick's sequence stays free for a burst.
			v = uint64(tick)<<w.seqBits | turn&(w.seqMask>>1)
		}
		if v >= g.hi {
			return 0, nil
		}
		if w.word.CompareAndSwap(last, v) {
			return v, nil
		}
	}
}

// keep returns the ID of a value once it is due. The value stays its caller's,
// whatever happens to the number meanwhile: callers in a burst are served in
// their order, and none has to try again.
func (w *Worker) keep(ctx context.Context, g *grant, v uint64) (ID, error) {
	if err := w.wait(ctx, w.tickOf(v)); err != nil {
		return 0, err
	}
	return w.id(g, v), nil
}

func (w *Worker) id(g *grant, v uint64) ID {
	return ID(v>>w.seqBits<<w.shift | g.node | v&w.seqMask<<(w.seqShift&63))
}

// wait sleeps until the clock is within Lead of the tick.
func (w *Worker) wait(ctx context.Context, tick int64) error {
	for {
		if err := w.early(tick); err != nil {
			return err
		}
		d := w.until(tick)
		if d <= 0 {
			return nil
		}
		if err := sleep(ctx, d); err != nil {
			return fmt.Errorf("idworker: waiting for the clock: %w", err)
		}
	}
}

// early is ErrTooFarAhead if the tick is not due within MaxWait.
func (w *Worker) early(tick int64) error {
	if d := w.until(tick); d > MaxWait {
		return fmt.Errorf("%w: %v may be used, and the clock says %v", ErrTooFarAhead,
			w.instant(tick).Format(time.RFC3339Nano), w.instant(0).
				Add(time.Duration(w.clock.milli())*time.Millisecond).Format(time.RFC3339Nano))
	}
	return nil
}

// until is how long it takes until the tick is due. Years are cut short.
func (w *Worker) until(tick int64) time.Duration {
	const year = 365 * 24 * time.Hour
	ms := tick*w.layout.unit() - w.clock.milli()
	return time.Duration(min(ms, year.Milliseconds()))*time.Millisecond - Lead
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
