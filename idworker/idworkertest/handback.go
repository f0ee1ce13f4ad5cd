package idworkertest

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
)

// Below is how ranges end: given back, lost with their process, or both in any
// order.

func releasedTokenIsLost(t *testing.T, open func() idworker.Lender) {
	var ledger Ledger
	l := open()
	g := acquire(t, l, window)
	release(t, l, g, g.From)
	lost(t, l, g)
	next := acquire(t, open(), window)
	ledger.Lent(next)
	lost(t, l, g)
	made := next
	made.Token = "not a token that was given out"
	lost(t, l, made)
	ledger.Lent(acquire(t, open(), window))
	ledger.check(t)
}

func releaseHandsBackTheUnused(t *testing.T, open func() idworker.Lender) {
	l := open()
	g := acquire(t, l, time.Hour)
	release(t, l, g, g.From)
	next := acquire(t, open(), window)
	if next.Number == g.Number && next.From.After(g.From.Add(time.Minute)) {
		t.Errorf("all was handed back at %v, and the next range begins at %v", g.From, next.From)
	}
	if next.Number == g.Number && next.From.Before(g.From) {
		t.Errorf("the range after [%v, ...) begins at %v", g.From, next.From)
	}
}

func releaseNeverMovesBehindFrom(t *testing.T, open func() idworker.Lender) {
	l := open()
	var ledger Ledger
	for range 5 {
		// Numbers whose fence is far ahead stay so.
		g := acquire(t, l, time.Hour)
		ledger.Lent(g)
		crash(t, l)
		l = open()
		g = acquire(t, l, window)
		release(t, l, g, g.From.Add(-24*time.Hour))
		ledger.Lent(g)
		ledger.Kept(g, g.From.UnixMilli())
	}
	ledger.check(t)
}

func releaseNeverRaisesTheFence(t *testing.T, open func() idworker.Lender) {
	l := open()
	g := acquire(t, l, window)
	release(t, l, g, g.Until.Add(time.Hour))
	next := acquire(t, open(), window)
	if next.Number == g.Number && next.From.After(g.Until.Add(time.Minute)) {
		t.Errorf("after [%v, %v) the next range begins at %v", g.From, g.Until, next.From)
	}
}

func crashLeavesTheFence(t *testing.T, open func() idworker.Lender) {
	var ledger Ledger
	for range 10 {
		l := open()
		g := extend(t, l, acquire(t, l, window), time.Now().Add(time.Minute))
		ledger.Lent(g)
		crash(t, l)
	}
	ledger.check(t)
}

// anyOrderNeverOverlaps drives a few lenders through random steps, and knows
// for each token whether it still has to be the owner's.
func anyOrderNeverOverlaps(t *testing.T, open func() idworker.Lender) {
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 0))
		lenders := []idworker.Lender{open(), open(), open()}
		grants := make([]idworker.Grant, len(lenders))
		owner := make(map[int]string)
		var ledger Ledger
		for range 60 {
			i := r.IntN(len(lenders))
			l, g := lenders[i], grants[i]
			switch owns := g.Token != "" && owner[g.Number] == g.Token; {
			case g.Token == "":
				g = acquire(t, l, time.Duration(1+r.IntN(500))*time.Millisecond)
				owner[g.Number] = g.Token
				ledger.Lent(g)
			case r.IntN(4) == 0:
				crash(t, l)
				lenders[i], g = open(), idworker.Grant{}
			case r.IntN(3) == 0:
				used := g.From.Add(time.Duration(r.Int64N(int64(g.Until.Sub(g.From)) + 1)))
				switch err := l.Release(t.Context(), g, used); {
				case !owns && !errors.Is(err, idworker.ErrLost):
					t.Errorf("seed %d: release of a lost number: %v", seed, err)
				case owns && err != nil:
					t.Errorf("seed %d: release: %v", seed, err)
				case owns:
					ledger.Kept(g, used.Add(time.Millisecond-1).UnixMilli())
					owner[g.Number] = ""
				}
				g = idworker.Grant{}
			default:
				until := g.Until.Add(time.Duration(r.IntN(1000)-300) * time.Millisecond)
				longer, err := l.Extend(t.Context(), g, until)
				switch {
				case !owns && !errors.Is(err, idworker.ErrLost):
					t.Errorf("seed %d: extension of a lost number: %v", seed, err)
				case owns && err != nil:
					t.Errorf("seed %d: extend: %v", seed, err)
				case owns && longer.Until.Before(g.Until):
					t.Errorf("seed %d: an extension moved the fence from %v to %v", seed, g.Until, longer.Until)
				}
				if err == nil {
					g = longer
					ledger.Lent(g)
				} else {
					g = idworker.Grant{}
				}
			}
			grants[i] = g
			if err := ledger.Overlap(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		for _, l := range lenders {
			crash(t, l)
		}
	}
}
