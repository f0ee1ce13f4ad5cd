package idworker

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// ErrLayout says that a [Layout] is impossible, or that something does not fit
// into it.
var ErrLayout = errors.New("idworker: does not fit the layout")

// A Layout says what the bits of an ID mean. From the highest to the lowest:
// the time since Epoch in Units, the datacenter, the worker, the sequence.
// Together they are 63 bits; the sign bit is always 0.
//
// Epoch is a whole millisecond, and Unit a whole number of milliseconds.
type Layout struct {
	Epoch time.Time
	Unit  time.Duration

	TimeBits, DatacenterBits, WorkerBits, SequenceBits uint8

	// WorkerLast puts the sequence right below the time, and the datacenter and
	// the worker below the sequence.
	WorkerLast bool
}

// Validate returns an [ErrLayout] that says what is wrong with l, or nil. The
// other methods count on a valid layout.
func (l Layout) Validate() error {
	sum := int(l.TimeBits) + int(l.DatacenterBits) + int(l.WorkerBits) + int(l.SequenceBits)
	switch {
	case sum != 63:
		return fmt.Errorf("%w: the bits add up to %d instead of 63", ErrLayout, sum)
	case l.TimeBits == 0:
		return fmt.Errorf("%w: no bits of time", ErrLayout)
	case l.Unit < time.Millisecond || l.Unit%time.Millisecond != 0:
		return fmt.Errorf("%w: a unit of %v is not a whole number of milliseconds", ErrLayout, l.Unit)
	case !time.UnixMilli(l.Epoch.UnixMilli()).Equal(l.Epoch):
		return fmt.Errorf("%w: the epoch is not a whole millisecond", ErrLayout)
	case math.Abs(float64(l.Epoch.UnixMilli()))+math.Ldexp(float64(l.unit()), int(l.TimeBits)) > 1<<62:
		return fmt.Errorf("%w: it begins earlier or ends later than can be told", ErrLayout)
	}
	return nil
}

// Time is the instant that the ID carries, in UTC: the beginning of the Unit
// in which it was minted.
func (l Layout) Time(id ID) time.Time { return time.UnixMilli(l.UnixMilli(id)).UTC() }

// UnixMilli is [Layout.Time] in milliseconds since 1970.
func (l Layout) UnixMilli(id ID) int64 {
	return l.Epoch.UnixMilli() + int64(id)>>l.timeShift()*l.unit()
}

// Smallest is the smallest ID that a worker could mint in the Unit that holds
// t. It is 0 before Epoch and the largest ID from [Layout.Overflow] on.
func (l Layout) Smallest(t time.Time) ID {
	switch {
	case t.Before(l.Epoch):
		return 0
	case !t.Before(l.Overflow()):
		return math.MaxInt64
	}
	return ID(l.tick(t) << l.timeShift())
}

// Overflow is the first instant for which there are no IDs: from then on
// minting refuses with [ErrExhausted].
func (l Layout) Overflow() time.Time {
	return time.UnixMilli(l.Epoch.UnixMilli() + l.unit()<<l.TimeBits).UTC()
}

// Numbers is how many worker numbers there are, counting each datacenter's
// apart: the datacenter is the upper part of the number that a [Lender] lends.
func (l Layout) Numbers() int64 { return 1 << (l.DatacenterBits + l.WorkerBits) }

// Parts are what an ID is made of.
type Parts struct {
	Time                         time.Time
	Datacenter, Worker, Sequence int64
}

// Decompose takes an ID apart. id is not negative.
func (l Layout) Decompose(id ID) Parts {
	n := int64(id)
	part := func(shift, bits uint8) int64 { return n >> shift & (1<<bits - 1) }
	return Parts{
		Time:       l.Time(id),
		Datacenter: part(l.numberShift()+l.WorkerBits, l.DatacenterBits),
		Worker:     part(l.numberShift(), l.WorkerBits),
		Sequence:   part(l.sequenceShift(), l.SequenceBits),
	}
}

// Compose puts an ID together. It is [ErrLayout] if a part does not fit, or if all are 0: an
// ID is greater. Time is rounded down to a Unit.
func (l Layout) Compose(p Parts) (ID, error) {
	fits := func(v int64, bits uint8) bool { return v >= 0 && v < 1<<bits }
	switch {
	case p.Time.Before(l.Epoch) || !p.Time.Before(l.Overflow()):
		return 0, fmt.Errorf("%w: time %v", ErrLayout, p.Time)
	case !fits(p.Datacenter, l.DatacenterBits):
		return 0, fmt.Errorf("%w: datacenter %d", ErrLayout, p.Datacenter)
	case !fits(p.Worker, l.WorkerBits):
		return 0, fmt.Errorf("%w: worker %d", ErrLayout, p.Worker)
	case !fits(p.Sequence, l.SequenceBits):
		return 0, fmt.Errorf("%w: sequence %d", ErrLayout, p.Sequence)
	}
	id := ID(l.tick(p.Time)<<l.timeShift() |
		(p.Datacenter<<l.WorkerBits|p.Worker)<<l.numberShift() | p.Sequence<<l.sequenceShift())
	if id == 0 {
		return 0, fmt.Errorf("%w: every part is 0, and an ID is greater", ErrLayout)
	}
	return id, nil
}

func (l Layout) unit() int64      { return int64(l.Unit / time.Millisecond) }
func (l Layout) timeShift() uint8 { return l.DatacenterBits + l.WorkerBits + l.SequenceBits }

// numberShift is where the number that a Lender lends lies.
func (l Layout) numberShift() uint8 {
	if l.WorkerLast {
		return 0
	}
	return l.SequenceBits
}

func (l Layout) sequenceShift() uint8 {
	if l.WorkerLast {
		return l.DatacenterBits + l.WorkerBits
	}
	return 0
}

// tick is the number of whole Units from Epoch to t, which is not before it.
func (l Layout) tick(t time.Time) int64 {
	return (t.UnixMilli() - l.Epoch.UnixMilli()) / l.unit()
}
