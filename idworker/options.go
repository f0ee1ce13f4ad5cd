package idworker

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"time"
)

// Options are the choices of a Worker. The zero value is a good one.
type Options struct {
	// Layout of the IDs. The zero Layout means Default().
	Layout Layout

	// Window is the length to which ranges grow; they start at 100 ms and
	// double. It is how long minting survives an outage of the Lender, at least
	// half of it, and how far ahead of the clock a killed process leaves its
	// number. Zero means 3 s. It must stay below MaxWait.
	Window time.Duration

	// Lead is how far ahead of the clock an ID may be under ClockSteady, at most a minute. Zero
	// means the constant Lead. A successor under the same number needs the same Lead; with a
	// shorter one it waits or is refused. The other policies do not use Lead.
	Lead time.Duration

	// Clock says what to do when the clock goes back, and Start where the
	// sequence begins in a new unit of time.
	Clock ClockPolicy
	Start SequenceStart

	// Now is the time; nil means time.Now. It must not step back while the
	// Worker lives, which the monotonic reading of time.Now guarantees. If it
	// does, IDs stay unique and in order, and minting waits or refuses.
	Now func() time.Time

	// Wall is what a wall clock shows, which may step in either direction;
	// nil means Now, of which the monotonic reading is left out.
	Wall func() time.Time

	// Recorder is notified of what happens; nil: none is.
	Recorder Recorder

	// random says where a sequence begins; nil means the process's generator.
	// Only a simulation, whose seeds have to repeat, has another.
	random func() uint64
}

// A ClockPolicy says what happens when the clock goes back while a Worker
// lives. No policy mints an ID twice: that rests on the Lender alone.
type ClockPolicy uint8

const (
	// ClockSteady reads the wall clock at the beginning and counts on from there
	// without it, so that it never goes back; whenever a range is asked for, it
	// catches up with a wall clock that is ahead. A burst uses the next
	// milliseconds in advance, up to the lead; then calls wait asleep. It is the
	// default.
	ClockSteady ClockPolicy = iota

	// ClockRefuse reads the wall clock for each ID and fails with
	// [ErrClockBehind] until it has caught up, as Twitter's Snowflake does.
	// Nothing is minted ahead of the clock.
	ClockRefuse

	// ClockWait is ClockRefuse that first waits, asleep, twice as long as the
	// clock went back if that is at most 5 ms, as Leaf does.
	ClockWait

	// ClockIgnore reads the clock at the beginning and never again, as Baidu's
	// cached generator does: each ID comes next to the last one. The time in an
	// ID is then only a place in an order: it falls behind when little is minted
	// and runs ahead without a bound when much is. A number that was left more
	// than [MaxWait] ahead can be opened again only with ClockIgnore.
	ClockIgnore
)

// strict policies look at the wall clock for each ID.
func (p ClockPolicy) strict() bool { return p == ClockRefuse || p == ClockWait }

// A SequenceStart says where the sequence begins in a unit of time in which
// nothing was minted before. When it comes to its end, minting goes on in the
// next unit, so a late start costs nothing in the long run.
type SequenceStart uint8

const (
	// StartTurning goes on from the last sequence, in the lower half: at low
	// rates IDs spread evenly over the residues of a power of two of at most
	// half the sequence, and half of each unit is free for a burst. It is the
	// default.
	StartTurning SequenceStart = iota

	// StartZero begins at 0, as Twitter's Snowflake does. At low rates all IDs
	// have the residue 0.
	StartZero

	// StartBelow100 begins at a random number below 100, as Leaf does.
	StartBelow100

	// StartRandom begins anywhere.
	StartRandom
)

// maxLead keeps what a restart has to wait for within sight.
const maxLead = time.Minute

func (o Options) withDefaults() (Options, error) {
	o.Layout = cmp.Or(o.Layout, Default())
	o.Window = cmp.Or(o.Window, 3*time.Second)
	switch {
	case o.Clock != ClockSteady:
		o.Lead = 0
	case o.Lead == 0:
		o.Lead = Lead
	}
	if o.random == nil {
		o.random = rand.Uint64
	}
	if err := o.Layout.Validate(); err != nil {
		return o, err
	}
	switch {
	case o.Window < 0 || o.Window >= MaxWait:
		return o, fmt.Errorf("a window of %v is not between 0 and %v", o.Window, MaxWait)
	case o.Lead < 0 || o.Lead > maxLead:
		return o, fmt.Errorf("a lead of %v is not between 0 and %v", o.Lead, maxLead)
	case o.Clock > ClockIgnore:
		return o, fmt.Errorf("there is no clock policy %d", o.Clock)
	case o.Start > StartRandom:
		return o, fmt.Errorf("there is no sequence start %d", o.Start)
	}
	o.Window = o.Window.Truncate(time.Millisecond) // Lenders round, and would never lend enough
	return o, nil
}
