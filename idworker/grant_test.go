package idworker

import (
	"math"
	"testing"
)

// TestGrantHoldsItsRangeOnly is internal: a value taken before a new range was
// shown, and looked at after, is a race of nanoseconds from outside.
func TestGrantHoldsItsRangeOnly(t *testing.T) {
	for _, g := range []grant{{}, {lo: 100, hi: 100}, {lo: 100, hi: 200}} {
		for _, v := range []uint64{0, 1, 99, 100, 199, 200, closedWord, closedWord + 150, math.MaxUint64} {
			if got, want := g.holds(v), g.lo <= v && v < g.hi; got != want {
				t.Errorf("[%d, %d) holds %d: %v", g.lo, g.hi, v, got)
			}
		}
	}
}
