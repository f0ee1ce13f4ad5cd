//go:build unix

package main

import (
	"math/rand/v2"
	"sync"
	"time"
)

// An era is what most clocks of a row show, less or more. It moves forward by
// hours, and some clocks are hours behind: a number whose fence is ahead of
// every clock could not be opened again, and there would be nothing to test.
type era struct {
	within time.Duration // how wrong a clock may be; 0: by anything

	mu  sync.Mutex
	off time.Duration
}

// draw is how wrong a clock is from now on. After a refusal it is likely to be past
// every fence.
func (e *era) draw(refused bool) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	around := func(d time.Duration) time.Duration { return rand.N(2*d) - d }
	if e.within > 0 {
		return around(e.within)
	}
	n := rand.IntN(10)
	if refused && n > 3 {
		e.off += rand.N(10 * time.Second)
		return e.off
	}
	switch {
	case n == 0:
		e.off += rand.N(2 * time.Hour)
		return e.off
	case n == 1:
		return e.off - rand.N(3*time.Hour)
	case n <= 3:
		return e.off + around(3*time.Second)
	default:
		return e.off + around(100*time.Millisecond)
	}
}
