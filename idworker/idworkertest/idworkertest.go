// Package idworkertest holds every [idworker.Lender] to the same promise.
package idworkertest

import (
	"errors"
	"io"
	"math/rand/v2"
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

func acquire(t testing.TB, l idworker.Lender, d time.Duration) idworker.Grant {
	t.Helper()
	g, err := l.Acquire(t.Context(), d)
	if err != nil {
		t.Fatalf("acquire: %v", err)
	}
	return g
}

func extend(t testing.TB, l idworker.Lender, g idworker.Grant, until time.Time) idworker.Grant {
	t.Helper()
	g, err := l.Extend(t.Context(), g, until)
	if err != nil {
		t.Fatalf("extend: %v", err)
	}
	return g
}

func release(t testing.TB, l idworker.Lender, g idworker.Grant, used time.Time) {
	t.Helper()
	if err := l.Release(t.Context(), g, used); err != nil {
		t.Fatalf("release: %v", err)
	}
}

// lost checks that a token opens nothing any more.
func lost(t testing.TB, l idworker.Lender, g idworker.Grant) {
	t.Helper()
	if _, err := l.Extend(t.Context(), g, g.Until.Add(time.Hour)); !errors.Is(err, idworker.ErrLost) {
		t.Errorf("extend with a token of the past: got %v, want ErrLost", err)
	}
	if err := l.Release(t.Context(), g, g.From); !errors.Is(err, idworker.ErrLost) {
		t.Errorf("release with a token of the past: got %v, want ErrLost", err)
	}
}

func crash(t testing.TB, l idworker.Lender) {
	t.Helper()
	if c, ok := l.(io.Closer); ok {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}
