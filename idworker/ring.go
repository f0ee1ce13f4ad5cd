package idworker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// ErrRingEmpty says that a [Ring] that does not fill itself has run out.
var ErrRingEmpty = errors.New("idworker: the ring is empty")

const (
	// ringChunk is how many IDs are reserved at once, and so about how many
	// others a caller that finds the ring empty waits for.
	ringChunk = 256

	maxSlots = 1 << 24
)

// RingOptions are the choices of a Ring.
type RingOptions struct {
	// Boost is the power of two by which the ring has more slots than a unit of
	// the layout's time has sequences. There are at most 2^24 slots.
	Boost uint8

	// Threshold is the percentage of filled slots below which Run fills the
	// ring up. Zero means 50.
	Threshold int

	// Every is how often Run does so regardless. Zero means never.
	Every time.Duration

	// Full says what Run does with a ring that is full when its time has come,
	// and Empty what Next does with one that is empty.
	Full  RingFull
	Empty RingEmpty
}

// RingFull says what happens to a ring on schedule.
type RingFull uint8

const (
	// FullKeep fills what is free and keeps the rest, however old.
	FullKeep RingFull = iota

	// FullReplace puts new IDs in the place of all old ones, which no caller gets:
	// an ID taken is then not much older than Every.
	FullReplace
)

// RingEmpty says what happens to a caller that finds the ring empty.
type RingEmpty uint8

const (
	// EmptyFill has the caller mint, for itself and for the next ones. No call
	// is refused because of the ring.
	EmptyFill RingEmpty = iota

	// EmptyRefuse fails with ErrRingEmpty at once. Only Run fills such a ring.
	EmptyRefuse
)

// A Ring holds IDs of a Worker minted in advance, as Baidu's cached generator
// does. It makes the time that Next takes independent of clock and Lender as
// long as it is not empty. [Worker.NextN] is cheaper for many IDs.
//
// What it borrows from the future is what its Worker does: the lead, or any
// amount under ClockIgnore. An ID taken carries the time when it was put in,
// which is long ago if no caller has taken any since.
type Ring struct {
	w         *Worker
	slots     []atomic.Int64
	mask, low uint64
	every     time.Duration
	full      RingFull
	empty     RingEmpty
	fill      chan struct{} // holds one element while a caller fills
	wake      chan struct{}
	buf       []ID // the filler's
	nudged    atomic.Bool

	// Positions grow for ever: head is of the next ID to take, tail of the next
	// slot to fill. Each has its own cache line.
	_    [64]byte
	head atomic.Uint64
	_    [56]byte
	tail atomic.Uint64
	_    [56]byte
}

// NewRing makes an empty Ring; see [Ring.Run].
func NewRing(w *Worker, o RingOptions) (*Ring, error) {
	o.Threshold = cmp.Or(o.Threshold, 50)
	bits := int(w.seqBits) + int(o.Boost)
	switch {
	case bits > 62 || 1<<bits > maxSlots:
		return nil, fmt.Errorf("idworker: ring: 2^%d slots are more than %d", bits, maxSlots)
	case o.Threshold < 0 || o.Threshold > 100:
		return nil, fmt.Errorf("idworker: ring: a threshold of %d %%", o.Threshold)
	case o.Every < 0:
		return nil, fmt.Errorf("idworker: ring: filled every %v", o.Every)
	case o.Full > FullReplace || o.Empty > EmptyRefuse:
		return nil, fmt.Errorf("idworker: ring: there is no policy %d for a full ring, or %d for an empty one", o.Full, o.Empty)
	}
	size := uint64(1) << bits
	return &Ring{
		w: w, slots: make([]atomic.Int64, size), mask: size - 1, low: (size*uint64(o.Threshold) + 99) / 100,
		every: o.Every, full: o.Full, empty: o.Empty,
		fill: make(chan struct{}, 1), wake: make(chan struct{}, 1), buf: make([]ID, min(ringChunk, size)),
	}, nil
}

// Len is how many IDs are in the ring.
func (r *Ring) Len() int {
	head := r.head.Load()
	return int(min(r.tail.Load()-head, uint64(len(r.slots))))
}

// Next takes the oldest ID out of the ring. The IDs of one Ring strictly
// increase. If the ring is empty, it fails with [ErrRingEmpty] or mints, and
// then fails and waits as [Worker.Next] does. What is in the ring may be taken
// after its Worker is closed.
func (r *Ring) Next(ctx context.Context) (ID, error) {
	for {
		// In this order: a head read after the tail might have passed it. And
		// the slot before the head moves: afterwards it may be filled again. If
		// it was filled in between, the head has moved, and nothing is taken.
		head := r.head.Load()
		tail := r.tail.Load()
		if head == tail {
			id, err := r.refill(ctx)
			if id != 0 || err != nil {
				return id, err
			}
			continue
		}
		id := r.slots[head&r.mask].Load()
		if r.head.CompareAndSwap(head, head+1) {
			if tail-head <= r.low {
				r.nudge()
			}
			return ID(id), nil
		}
	}
}

// refill fills an empty ring and returns the first ID, or 0 if another caller
// has filled it meanwhile.
func (r *Ring) refill(ctx context.Context) (ID, error) {
	r.nudge()
	if r.empty == EmptyRefuse {
		return 0, ErrRingEmpty
	}
	if err := r.begin(ctx); err != nil {
		return 0, err
	}
	defer r.end()
	if r.Len() > 0 {
		return 0, nil
	}
	n, err := r.w.NextN(ctx, r.buf)
	if n == 0 {
		return 0, err
	}
	// The first is the caller's before others see the rest.
	r.push(r.buf[1:n])
	return r.buf[0], nil
}

// nudge wakes Run, once until it has filled the ring.
func (r *Ring) nudge() {
	if !r.nudged.Load() && r.nudged.CompareAndSwap(false, true) {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}

// begin waits until no other caller fills.
func (r *Ring) begin(ctx context.Context) error {
	select {
	case r.fill <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("idworker: waiting for the ring: %w", ctx.Err())
	}
}

func (r *Ring) end() { <-r.fill }

// push puts IDs into slots that are free. Only the filler calls it.
func (r *Ring) push(ids []ID) {
	tail := r.tail.Load()
	for i, id := range ids {
		r.slots[(tail+uint64(i))&r.mask].Store(int64(id))
	}
	r.tail.Store(tail + uint64(len(ids)))
}

// drop frees slots until n are, by throwing away the oldest IDs. Only the
// filler calls it.
func (r *Ring) drop(n int) {
	for {
		head := r.head.Load()
		free := len(r.slots) - int(r.tail.Load()-head)
		if free >= n || r.head.CompareAndSwap(head, head+uint64(n-free)) {
			return
		}
	}
}
