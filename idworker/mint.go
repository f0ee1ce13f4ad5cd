package idworker

import (
	"context"
	"errors"
	"time"
)

const (
	// Lead is how far ahead of the clock an ID may be when it is returned,
	// unless Options say otherwise. A burst may use up that much of the future
	// at once; then minting keeps to the pace of the clock, asleep.
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

	// ErrClockBehind says that the wall clock shows an earlier time than it has
	// shown before.
	ErrClockBehind = errors.New("idworker: the clock went back")

	// ErrExhausted says that the layout has no IDs for instants this late.
	ErrExhausted = errors.New("idworker: the layout has no IDs left")
)

// Next mints an ID greater than every ID that this Worker minted before the
// call. It allocates nothing unless it has to wait.
//
// It waits, asleep and for at most [MaxWait], when minting is ahead of the
// clock by more than [Lead]; it asks the Lender itself, within ctx, when the
// range was not extended in time. A lost number is replaced by another. It
// fails with [ErrClosed], [ErrNoGrant] (with [ErrLost] wrapped in it if the
// number was lost and no other could be had), [ErrTooFarAhead] or
// [ErrExhausted], or the error of ctx; under ClockRefuse and ClockWait also with
// [ErrClockBehind].
func (w *Worker) Next(ctx context.Context) (ID, error) {
	var now int64
	switch w.policy {
	case ClockSteady:
		now = w.clock.tick()
	case ClockIgnore:
		return w.follow(ctx)
	default:
		var err error
		if now, err = w.read(ctx); err != nil {
			return 0, err
		}
	}
	if w.wary.Load() {
		return w.mint(ctx, w.word.Load()+1, 0)
	}
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
	w.drop(v)
	return w.mint(ctx, v, 0)
}

// follow is Next without a look at the clock.
func (w *Worker) follow(ctx context.Context) (ID, error) {
	if w.wary.Load() {
		return w.mint(ctx, w.word.Load()+1, 0)
	}
	v := w.word.Add(1)
	if g := w.grant.Load(); g.holds(v) {
		return w.id(g, v), nil
	}
	w.drop(v)
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
	w.counts.skipped.Add(1)
	least := int64(floor>>w.shift) + 1
	// Nothing is taken before it is due, or all callers would have to wait.
	if err := w.wait(ctx, least); err != nil {
		return 0, err
	}
	return w.mint(ctx, uint64(id)>>w.seqShift+1, least)
}

// drop counts a value that no caller gets. Values of a closed Worker are none.
func (w *Worker) drop(v uint64) {
	if v < closedWord {
		w.counts.skipped.Add(1)
	}
}

// mint moves the word up to the clock, to least, and into the range, and takes
// a value there. The low bits of turn are the sequence to go on with in a new
// tick.
func (w *Worker) mint(ctx context.Context, turn uint64, least int64) (ID, error) {
	g, v, err := w.reserve(ctx, turn, least, 1)
	if err != nil {
		return 0, err
	}
	return w.keep(ctx, g, v)
}

// reserve takes n values that follow each other and lie in one range, and
// returns the first. n is at most half a tick, so that any range can hold them.
func (w *Worker) reserve(ctx context.Context, turn uint64, least int64, n uint64) (*grant, uint64, error) {
	for {
		g := w.grant.Load()
		v, err := w.take(g, turn, least, n)
		if err == nil && v == 0 {
			w.counts.rangeWaits.Add(1)
			if err = w.renew(ctx, g); err == nil {
				continue
			}
		}
		if err != nil {
			w.wary.Store(true)
			return nil, 0, err
		}
		// Always after the values are taken: see publish.
		if g := w.grant.Load(); g.holds(v) && g.holds(v+n-1) {
			if w.wary.Load() {
				w.wary.Store(false)
			}
			return g, v, nil
		}
		w.counts.skipped.Add(n)
	}
}

// take returns the first of the next n values, or 0 if one of them would lie
// behind the end of g. It takes none that is not due within MaxWait: a caller would get nothing, and
// calls that are refused would use up the future of those to come.
func (w *Worker) take(g *grant, turn uint64, least int64, n uint64) (uint64, error) {
	for {
		last := w.word.Load()
		if last >= closedWord {
			return 0, ErrClosed
		}
		v := last + 1
		tick, now := max(least, w.tickOf(g.lo)), int64(0)
		if w.policy != ClockIgnore {
			now = w.clock.tick()
			tick = max(tick, now)
		}
		if w.tickOf(last) < tick {
			v = uint64(tick)<<w.seqBits | w.sequence(turn)
		}
		if due := w.tickOf(v + n - 1); due > now && w.policy != ClockIgnore {
			if err := w.early(due); err != nil {
				return 0, err
			}
		}
		if v+n-1 >= g.hi {
			return 0, nil
		}
		if w.move(last, v+n-1, n) {
			return v, nil
		}
	}
}

// sequence is where to begin in a new tick.
func (w *Worker) sequence(turn uint64) uint64 {
	switch w.start {
	case StartZero:
		return 0
	case StartBelow100:
		return w.random() % min(100, w.seqMask+1)
	case StartRandom:
		return w.random() & w.seqMask
	default:
		// If the sequence began at 0 in each tick, and less than one ID was minted in a tick, all
		// IDs would have the same remainder modulo any power of two up to the length of the
		// sequence. Half of each tick's sequence stays free for a burst.
		return turn & (w.seqMask >> 1)
	}
}

// keep returns the ID of a value once it is due. The value stays its caller's,
// whatever happens to the number meanwhile: callers in a burst are served in
// their order, and none has to try again.
func (w *Worker) keep(ctx context.Context, g *grant, v uint64) (ID, error) {
	if err := w.wait(ctx, w.tickOf(v)); err != nil {
		w.counts.skipped.Add(1)
		w.wary.Store(true)
		return 0, err
	}
	return w.id(g, v), nil
}

func (w *Worker) id(g *grant, v uint64) ID {
	return ID(v>>w.seqBits<<w.shift | g.node | v&w.seqMask<<(w.seqShift&63))
}

// NextN fills dst with IDs as [Worker.Next] mints them, in increasing order and
// greater than every ID that this Worker minted before the call, at a fraction
// of the cost: as many as half a unit's sequence are reserved at once. It allocates
// nothing unless it has to wait.
//
// It returns how many it filled in, which is fewer than len(dst) only with an
// error; dst[:n] are good IDs even then. It fails as Next does.
func (w *Worker) NextN(ctx context.Context, dst []ID) (int, error) {
	n := 0
	for n < len(dst) {
		if w.policy.strict() {
			if _, err := w.read(ctx); err != nil {
				return n, err
			}
		}
		// So many fit into any range, however short.
		few := min(uint64(len(dst)-n), w.seqMask>>1+1)
		g, v, err := w.reserve(ctx, w.word.Load()+1, 0, few)
		if err != nil {
			return n, err
		}
		// The last is due last.
		if err := w.wait(ctx, w.tickOf(v+few-1)); err != nil {
			w.counts.skipped.Add(few)
			return n, err
		}
		w.fill(dst[n:n+int(few)], g, v)
		n += int(few)
	}
	return n, nil
}

// fill is id for the values from v on. It keeps in registers what a loop around
// id would read again each time.
func (w *Worker) fill(dst []ID, g *grant, v uint64) {
	bits, shift, at, mask, node := w.seqBits&63, w.shift&63, w.seqShift&63, w.seqMask, g.node
	for i := range dst {
		dst[i] = ID(v>>bits<<shift | node | v&mask<<at)
		v++
	}
}
