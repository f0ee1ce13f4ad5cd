package idworker

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// firstWindow is short: what a killed process leaves behind is the end of
	// its range, which its successor under the same number has to sit out.
	firstWindow = 100 * time.Millisecond

	// closedWord is greater than every value that a range can hold.
	closedWord = 1 << 63
)

// A Worker mints IDs from ranges that a Lender lends it. Its methods may be
// called at the same time.
type Worker struct {
	lender   Lender
	layout   Layout
	clock    clock
	first    time.Duration // the window of the first range under a number
	most     time.Duration // the longest window
	seqBits  uint8
	shift    uint8 // of the time in an ID
	seqShift uint8 // of the sequence in an ID
	seqMask  uint64
	lead     time.Duration
	leadTick int64
	rest     time.Duration // by which a short sleep is made longer
	policy   ClockPolicy
	start    SequenceStart
	random   func() uint64
	recorder Recorder

	// word is the value handed out last: its tick, then its sequence. It only
	// grows, and each value is handed out by one atomic operation. It has its
	// own cache line, because every call writes it.
	_    [64]byte
	word atomic.Uint64
	_    [56]byte

	// grant is where values may lie. Both ends are read as one: a caller that
	// saw the end of one range and the beginning of another could take a value
	// that was lent to another.
	grant atomic.Pointer[grant]

	// wary is true from a call that was refused to the next that takes a value. Until then [Worker.Next]
	// looks whether there is one before it takes it.
	wary atomic.Bool

	// seen is the latest reading of a strict clock, and behind whether the one
	// after it was earlier.
	seen   atomic.Int64
	behind atomic.Bool

	counts counts

	mu     sync.Mutex
	flight *flight
	done   bool
	closed chan struct{}
}

// A grant is a Grant in terms of the word: values in [lo, hi) may be minted.
// It never changes.
type grant struct {
	lo, hi uint64
	node   uint64 // the number, where an ID has it
	window time.Duration
	lent   Grant
}

func (g *grant) holds(v uint64) bool { return v-g.lo < g.hi-g.lo }

// Open takes a number and a first range from l. It is [ErrLayout] for an
// impossible layout or a number that does not fit, [ErrTooFarAhead] if the range
// begins more than [MaxWait] ahead of the clock, [ErrExhausted] if the layout has
// no IDs left, and otherwise what the Lender returns. It starts no goroutine.
func Open(ctx context.Context, l Lender, o Options) (*Worker, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("idworker: open: %w", err)
	}
	w := &Worker{
		lender: l, layout: o.Layout,
		// Wherever a range begins and ends, it has to hold the end of a tick.
		first:   max(min(firstWindow, o.Window), 2*o.Layout.Unit),
		most:    max(o.Window, 2*o.Layout.Unit),
		seqBits: o.Layout.SequenceBits, shift: o.Layout.timeShift(), seqShift: o.Layout.sequenceShift(),
		seqMask: 1<<o.Layout.SequenceBits - 1,
		lead:    o.Lead, leadTick: int64(o.Lead / o.Layout.Unit), rest: min(mostRest, o.Lead/4),
		policy: o.Clock, start: o.Start, random: o.random, recorder: o.Recorder,
		closed: make(chan struct{}),
	}
	w.clock.init(o)
	w.seen.Store(math.MinInt64)
	w.grant.Store(&grant{})
	if w.clock.tick() >= w.end() {
		return nil, fmt.Errorf("idworker: open: %w", ErrExhausted)
	}
	if err := w.acquire(ctx); err != nil {
		return nil, fmt.Errorf("idworker: open: %w", err)
	}
	g := w.grant.Load()
	if err := w.early(w.tickOf(g.lo)); err != nil {
		// Nothing was minted, so all of it goes back. Close would keep the unit that the word is in:
		// a process that is started again each second would move a fence of seconds on for ever.
		return nil, errors.Join(fmt.Errorf("idworker: open: %w", err), w.lender.Release(ctx, g.lent, g.lent.From))
	}
	return w, nil
}

// Number is the worker number in use. It changes when the number is lost.
func (w *Worker) Number() int { return w.grant.Load().lent.Number }

// Close ends minting and hands back what was not minted, so that a successor
// can start at once. Calls of Next that have an ID already may still return it;
// all others fail with [ErrClosed]. If the Lender cannot be reached, Close returns
// its error, and the rest of the range is wasted. Later calls do nothing.
func (w *Worker) Close(ctx context.Context) error {
	w.mu.Lock()
	if w.done {
		w.mu.Unlock()
		return nil
	}
	w.done = true
	f := w.flight
	w.mu.Unlock()
	close(w.closed)

	// The swap is the cut: everything handed out is at or below last, and
	// nothing is handed out afterwards. Looking first and closing then would
	// hand back values minted in between.
	last := w.word.Swap(closedWord)
	w.counts.final.Store(last)

	// A renewal on its way may still change what there is to hand back.
	if f != nil {
		select {
		case <-f.done:
		case <-ctx.Done():
			return fmt.Errorf("idworker: close: %w", ctx.Err())
		}
	}
	g := w.grant.Load()
	if g.lent.Token == "" {
		return nil
	}
	used := g.lent.Until
	if last < g.hi {
		used = w.instant(w.tickOf(last) + 1)
	}
	if err := w.lender.Release(ctx, g.lent, used); err != nil && !errors.Is(err, ErrLost) {
		return fmt.Errorf("idworker: close: %w", err)
	}
	return nil
}

// publish begins to mint in a range under a new owner's token. It returns
// ErrClosed if the Worker is closed.
//
// IDs must go on increasing although the number may be smaller than before, so
// the new range begins in a tick in which nothing was minted. First no call can
// mint, then the word moves, then the new range is shown. A caller that took a
// value before the move either saw the old range, and the value is in an
// earlier tick, or sees the new one, and the value lies before it.
func (w *Worker) publish(lent Grant) error {
	w.grant.Store(&grant{lent: Grant{Number: w.Number()}})
	n := w.grantOf(lent, w.first)
	for {
		last := w.word.Load()
		if last >= closedWord {
			return ErrClosed
		}
		n.lo = max(n.lo, uint64(w.tickOf(last)+1)<<w.seqBits)
		// Programs that mint one ID and end would otherwise all mint the same
		// sequence. IDs are public, so the random number is no secret. The word
		// is what was handed out last, hence the 1.
		to := n.lo + w.sequence(w.random()) - 1
		if w.move(last, to, 0) {
			break
		}
	}
	n.hi = max(n.lo, n.hi)
	w.grant.Store(n)
	return nil
}

// grantOf says a range in ticks. A tick belongs to the range that holds its
// end, so both ends round down: of two ranges that do not overlap, only one
// holds the end of any tick. The clock of a new range is usually inside its
// first tick, which needs no wait then.
func (w *Worker) grantOf(lent Grant, window time.Duration) *grant {
	unit, epoch := w.layout.unit(), w.layout.Epoch.UnixMilli()
	lo := max(0, lent.From.UnixMilli()-epoch) / unit
	hi := max(0, lent.Until.UnixMilli()-epoch) / unit
	return &grant{
		lo: uint64(min(lo, w.end())) << w.seqBits, hi: uint64(min(hi, w.end())) << w.seqBits,
		node: uint64(lent.Number) << w.layout.numberShift(), window: window, lent: lent,
	}
}

// end is the first tick for which there are no IDs.
func (w *Worker) end() int64 { return 1 << w.layout.TimeBits }

func (w *Worker) tickOf(v uint64) int64 { return int64(v >> w.seqBits) }

// instant is the beginning of a tick.
func (w *Worker) instant(tick int64) time.Time {
	return time.UnixMilli(w.layout.Epoch.UnixMilli() + tick*w.layout.unit()).UTC()
}
