// Package idworkertest holds every [idworker.Lender] to the same promise.
package idworkertest

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
)

const window = 100 * time.Millisecond

// TestLender checks the promise of [idworker.Lender]. store makes an empty
// store; what it returns opens one more Lender on that store, as another
// process would. If a Lender is an [io.Closer], Close is the death of its
// process: it hands back nothing.
//
// The Lenders use the clock of the machine, and have at least 64 numbers or
// lend one number to everybody.
func TestLender(t *testing.T, store func(t *testing.T) (open func() idworker.Lender)) {
	tests := []struct {
		name string
		run  func(*testing.T, func() idworker.Lender)
	}{
		{"RangeIsAsAsked", rangeIsAsAsked},
		{"HoldersNeverOverlap", holdersNeverOverlap},
		{"RacingStartsNeverOverlap", racingStartsNeverOverlap},
		{"FenceNeverFallsByExtend", fenceNeverFallsByExtend},
		{"LostAnswerDoesNotLoseTheNumber", lostAnswerDoesNotLoseTheNumber},
		{"ReleasedTokenIsLost", releasedTokenIsLost},
		{"ReleaseHandsBackTheUnused", releaseHandsBackTheUnused},
		{"ReleaseNeverMovesBehindFrom", releaseNeverMovesBehindFrom},
		{"ReleaseNeverRaisesTheFence", releaseNeverRaisesTheFence},
		{"CrashLeavesTheFence", crashLeavesTheFence},
		{"AnyOrderNeverOverlaps", anyOrderNeverOverlaps},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { test.run(t, store(t)) })
	}
}

func rangeIsAsAsked(t *testing.T, open func() idworker.Lender) {
	before := time.Now().Truncate(time.Millisecond)
	g := acquire(t, open(), window)
	if g.From.Before(before) {
		t.Errorf("a new number's range begins at %v, in the past of %v", g.From, before)
	}
	if got := g.Until.Sub(g.From); got != window {
		t.Errorf("the range is %v long, want %v", got, window)
	}
	if g.Token == "" || g.Number < 0 {
		t.Errorf("got number %d with token %q", g.Number, g.Token)
	}
}

func holdersNeverOverlap(t *testing.T, open func() idworker.Lender) {
	var ledger Ledger
	tokens := make(map[string]bool)
	l := open()
	for i := range 10 {
		if i%2 == 0 {
			l = open() // two holders in one process, and holders in others
		}
		g := acquire(t, l, window)
		ledger.Lent(g)
		if tokens[g.Token] {
			t.Errorf("token %q was given out twice", g.Token)
		}
		tokens[g.Token] = true
	}
	ledger.check(t)
}

func racingStartsNeverOverlap(t *testing.T, open func() idworker.Lender) {
	var (
		ledger Ledger
		wg     sync.WaitGroup
	)
	for range 16 {
		l := open()
		wg.Go(func() {
			for range 5 {
				g, err := l.Acquire(t.Context(), window)
				if err != nil {
					t.Errorf("acquire: %v", err)
					return
				}
				ledger.Lent(g)
				longer, err := l.Extend(t.Context(), g, g.Until.Add(window))
				if err == nil {
					ledger.Lent(longer)
					g = longer
				} else if !errors.Is(err, idworker.ErrLost) {
					t.Errorf("extend: %v", err)
				}
				used := g.From.Add(window / 2)
				if err := l.Release(t.Context(), g, used); err == nil {
					ledger.Kept(g, used.UnixMilli())
				} else if !errors.Is(err, idworker.ErrLost) {
					t.Errorf("release: %v", err)
				}
			}
		})
	}
	wg.Wait()
	ledger.check(t)
}

func fenceNeverFallsByExtend(t *testing.T, open func() idworker.Lender) {
	l := open()
	g := acquire(t, l, window)
	longer := extend(t, l, g, g.Until.Add(time.Second))
	if !longer.From.Equal(g.From) || longer.Number != g.Number || longer.Token != g.Token {
		t.Errorf("extend turned %+v into %+v", g, longer)
	}
	if want := g.Until.Add(time.Second); !longer.Until.Equal(want) {
		t.Errorf("extended until %v, want %v", longer.Until, want)
	}
	same := extend(t, l, longer, g.From)
	if !same.Until.Equal(longer.Until) {
		t.Errorf("an extension to an earlier instant left %v, want %v", same.Until, longer.Until)
	}
}

func lostAnswerDoesNotLoseTheNumber(t *testing.T, open func() idworker.Lender) {
	l := open()
	g := acquire(t, l, window)
	longer := extend(t, l, g, g.Until.Add(time.Second))
	again := extend(t, l, g, g.Until.Add(time.Second)) // the grant of before
	if !again.Until.Equal(longer.Until) {
		t.Errorf("asked again, got until %v, want %v", again.Until, longer.Until)
	}
}
