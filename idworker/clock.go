package idworker

import "time"

// A clock tells the milliseconds since a layout's epoch. It reads the wall
// clock once and then counts on the monotonic one, so it does not step back
// while the process lives.
type clock struct {
	now  func() time.Time // nil means time.Now
	base time.Time
	zero int64 // milliseconds from the epoch to base
	rest int64 // nanoseconds that base is past the millisecond
	unit int64 // milliseconds of a tick
}

func newClock(l Layout, now func() time.Time) clock {
	c := clock{now: now, base: time.Now(), unit: l.unit()}
	if now != nil {
		c.base = now()
	}
	c.zero = c.base.UnixMilli() - l.Epoch.UnixMilli()
	c.rest = int64(c.base.Nanosecond()) % int64(time.Millisecond)
	return c
}

func (c *clock) milli() int64 {
	var passed time.Duration
	if c.now == nil {
		passed = time.Since(c.base) // cheaper than time.Now
	} else {
		passed = c.now().Sub(c.base)
	}
	return c.zero + (int64(passed)+c.rest)/int64(time.Millisecond)
}

// tick is the number of whole units since the epoch, negative before it.
func (c *clock) tick() int64 {
	if c.unit == 1 {
		return c.milli()
	}
	return c.milli() / c.unit
}
