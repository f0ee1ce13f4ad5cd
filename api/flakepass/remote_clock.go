package flakepass

import (
	"sync/atomic"
	"time"
)

// An instant is nanoseconds since a Remote was made, by a clock that runs on
// evenly, and that also moves on by as much as the clock on the wall was ahead
// of it at most: the even one stands still while a machine sleeps.
type instant int64

// A steady is nanoseconds since a Remote was made by the even clock alone. It
// never shows more time than has passed.
type steady int64

type remoteClock struct {
	base time.Time
	jump *atomic.Int64
}

// step is by how much the clocks must differ for it to count as a sleep.
const step = time.Millisecond

func newRemoteClock() remoteClock { return remoteClock{base: time.Now(), jump: new(atomic.Int64)} }

func (c *remoteClock) now() (instant, steady) {
	t := time.Now()
	even := int64(t.Sub(c.base))
	jump := c.jump.Load()
	for ahead := t.UnixNano() - c.base.UnixNano() - even; ahead > jump+int64(step); jump = c.jump.Load() {
		c.jump.CompareAndSwap(jump, ahead)
	}
	return instant(even + jump), steady(even)
}

// slower is d, which is not below 0, as the shortest time that it may have been by another machine's
// clock, whose rate may differ by 0.05 % (NTP corrects a clock by that much at
// most, and no crystal is worse).
func slower(d time.Duration) time.Duration { return d - d/2000 }

// trusted is how old knowledge may be, measured here, so that it is younger than
// bound by the server's clock.
func trusted(bound time.Duration) time.Duration { return slower(bound) - 2*step }

// A serverClock is what a server's clock showed, and when that was: after
// sent, before arrived.
type serverClock struct {
	wall    int64 // Unix milliseconds, rounded down
	sent    instant
	arrived steady
}

// latest is the most that the clock may show now, in Unix milliseconds.
func (c *serverClock) latest(now instant) int64 {
	d := time.Duration(now - c.sent)
	return c.wall + 2 + (d + d/1000).Milliseconds()
}

// earliest is the least that it may show at that time, which may be past.
func (c *serverClock) earliest(at steady) int64 {
	d := time.Duration(at - c.arrived)
	return c.wall + (d - max(d, -d)/1000).Milliseconds() - 1
}
