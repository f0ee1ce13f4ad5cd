package idworker

import (
	"sync/atomic"
	"time"
)

// A clock counts the milliseconds since a layout's epoch. It reads the wall
// clock once and then counts on the monotonic one, so it does not step back
// while the process lives. A strict one is the wall clock itself.
type clock struct {
	now    func() time.Time // nil means time.Now
	wall   func() time.Time
	strict bool
	base   time.Time
	epoch  int64 // Unix milliseconds
	zero   int64 // milliseconds from the epoch to base
	rest   int64 // nanoseconds that base is past the millisecond
	unit   int64 // milliseconds of a tick

	// moved is by how many milliseconds look has set the clock forward.
	moved atomic.Int64

	// What look saw last: the clock, and by how much the wall clock was ahead.
	last, ahead int64
}

func (c *clock) init(o Options) {
	c.now, c.wall, c.strict = o.Now, o.Wall, o.Clock.strict()
	if c.wall == nil {
		c.wall = o.Now
	}
	if c.wall == nil {
		c.wall = time.Now
	}
	c.base, c.unit, c.epoch = time.Now(), o.Layout.unit(), o.Layout.Epoch.UnixMilli()
	if c.now != nil {
		c.base = c.now()
	}
	c.zero = c.base.UnixMilli() - c.epoch
	c.rest = int64(c.base.Nanosecond()) % int64(time.Millisecond)
	c.last = c.zero
}

func (c *clock) milli() int64 {
	if c.strict {
		return c.wallMilli()
	}
	var passed time.Duration
	if c.now == nil {
		passed = time.Since(c.base) // cheaper than time.Now
	} else {
		passed = c.now().Sub(c.base)
	}
	return c.zero + c.moved.Load() + (int64(passed)+c.rest)/int64(time.Millisecond)
}

func (c *clock) wallMilli() int64 { return c.wall().UnixMilli() - c.epoch }

// tick is the number of whole units since the epoch, negative before it.
func (c *clock) tick() int64 {
	if c.unit == 1 {
		return c.milli()
	}
	return c.milli() / c.unit
}

// look compares the clock with the wall clock, and returns by how much that
// went back since the last look, or 0. It is not called twice at a time.
//
// The monotonic clock stands still while a machine is suspended, and it takes
// no part in a step of the wall clock. IDs that stayed behind would make logins
// look older than they are, so the clock moves up to a wall clock that is
// ahead, the same that a restart would begin with. It never moves down: a wall
// clock that is behind makes no caller wait, and the worker stays ahead of
// it for the rest of its life.
func (c *clock) look() time.Duration {
	if c.strict {
		return 0
	}
	const slack = 2 // milliseconds that two rounded readings may be apart
	before := c.milli()
	wall := c.wallMilli()
	after := c.milli()
	// The readings are not taken at the same instant. The time between them must look neither like
	// a step forward of the wall clock nor like a step back.
	back := max(c.ahead-(wall-before), c.last-before)
	if back <= slack {
		back = 0
	}
	if c.ahead = wall - after; c.ahead >= slack {
		c.moved.Add(c.ahead)
		after, c.ahead = wall, 0
	}
	c.last = after
	return time.Duration(back) * time.Millisecond
}
