package idworker

import (
	"context"
	"testing"
	"time"
)

// A lone lender lends number 1 from the bubble of one test.
type lone struct{ Lender }

func (lone) Acquire(_ context.Context, window time.Duration) (Grant, error) {
	from := time.UnixMilli(1_000_000)
	return Grant{Number: 1, Token: "a", From: from, Until: from.Add(window)}, nil
}

func (lone) Extend(_ context.Context, g Grant, until time.Time) (Grant, error) {
	g.Until = until
	return g, nil
}

// TestReservedValuesLieInOneGrant is internal: a number that changes between the
// look at the range and the taking of values is a race of nanoseconds from
// outside. Here the clock, which is read in between, changes it.
func TestReservedValuesLieInOneGrant(t *testing.T) {
	l := Layout{Epoch: time.UnixMilli(0), Unit: time.Millisecond, TimeBits: 51, WorkerBits: 10, SequenceBits: 2}
	crossed := 0
	for range 200 {
		var w *Worker
		armed := false
		second := Grant{Number: 2, Token: "b", From: time.UnixMilli(1_000_001), Until: time.UnixMilli(1_000_002)}
		now := func() time.Time {
			if armed {
				armed = false
				if err := w.publish(second); err != nil {
					t.Error(err)
				}
			}
			return time.UnixMilli(1_000_000)
		}
		w, err := Open(t.Context(), lone{}, Options{Layout: l, Now: now, Start: StartRandom})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		armed = true
		var ids [2]ID
		if _, err := w.NextN(t.Context(), ids[:]); err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			g := w.grant.Load()
			if v := uint64(id)>>w.shift<<w.seqBits | uint64(id)&w.seqMask; g.lent.Number != 2 || !g.holds(v) {
				t.Fatalf("ID %+v is not of the range of number %d", l.Decompose(id), g.lent.Number)
			}
		}
		if w.Stats().RangeWaits > 0 {
			crossed++
		}
	}
	if crossed == 0 {
		t.Error("no two values crossed the end of a range: nothing was tested")
	}
}
