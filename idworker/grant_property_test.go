package idworker

import (
	"testing"
	"time"
)

// TestRangesThatDoNotOverlapShareNoTick is internal: from outside the ticks of a
// range show only in what is minted. A tick that lies across the border of two
// ranges belongs to one of them, whatever the unit and wherever the epoch.
func TestRangesThatDoNotOverlapShareNoTick(t *testing.T) {
	Randomly(t, func(t *testing.T, s Source) {
		l := Layout{
			Epoch: time.UnixMilli(s.Between(-1<<40, 1<<41)),
			Unit:  time.Duration(s.Between(1, 5000)) * time.Millisecond,
			// Some end while the ranges last.
			TimeBits: s.Bits(1, 41), SequenceBits: 2,
		}
		l.WorkerBits = 61 - l.TimeBits
		w := &Worker{layout: l, seqBits: l.SequenceBits}
		at := l.Epoch.UnixMilli() + s.Between(-10_000, 1<<30)
		var last *grant
		for range 5 {
			until := at + s.Between(0, 20_000)
			g := w.grantOf(Grant{From: time.UnixMilli(at), Until: time.UnixMilli(until)}, 0)
			if g.lo > g.hi {
				t.Fatalf("[%d, %d) becomes [%d, %d)", at, until, g.lo, g.hi)
			}
			if last != nil && g.lo < last.hi {
				t.Errorf("a range until %d has values up to %d, and the next one from %d", at, last.hi, g.lo)
			}
			if w.tickOf(g.hi) > w.end() {
				t.Errorf("values up to %d, and the layout ends at tick %d", g.hi, w.end())
			}
			for v := g.lo; v < g.hi && v < g.lo+20; v++ {
				end := w.instant(w.tickOf(v) + 1).UnixMilli()
				if end <= at || end > until {
					t.Errorf("[%d, %d) has the tick that ends at %d", at, until, end)
				}
			}
			last, at = g, until
		}
	})
}
