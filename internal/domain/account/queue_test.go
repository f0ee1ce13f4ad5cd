package account_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/internal/domain/account"
)

func stranger(network byte) account.Asker {
	return account.Asker{Network: netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 0, network}), 24)}
}

func known(network byte) account.Asker {
	by := stranger(network)
	by.Known = true
	return by
}

// A line of askers waits for a Hasher of one worker, who works on something else
// until each step.
type line struct {
	t       *testing.T
	h       *account.Hasher
	release chan struct{}
	all     sync.WaitGroup

	mu           sync.Mutex
	served, busy []string
}

func newLine(t *testing.T, queue int) *line {
	h, _, release := blocked(t, 1, queue)
	l := &line{t: t, h: h, release: release}
	l.ask("first", account.Asker{})
	return l
}

// ask has one more asker wait.
func (l *line) ask(name string, by account.Asker) {
	l.all.Go(func() {
		_, err := l.h.Hash(l.t.Context(), by, account.NewPassword("x"))
		l.mu.Lock()
		defer l.mu.Unlock()
		switch {
		case err == nil:
			l.served = append(l.served, name)
		case errors.Is(err, account.ErrBusy) && !errors.Is(err, context.DeadlineExceeded):
			l.busy = append(l.busy, name)
		default:
			l.t.Errorf("%s: %v", name, err)
		}
	})
	synctest.Wait()
}

// end serves all who wait, and returns them in order, but for the first.
func (l *line) end() string {
	for range 1 + l.h.Waiting() {
		l.release <- struct{}{}
		synctest.Wait()
	}
	l.all.Wait()
	if left := l.h.Waiting(); left != 0 {
		l.t.Errorf("%d wait after the end", left)
	}
	return strings.Join(l.served[1:], " ")
}

func (l *line) expect(served string, busy ...string) {
	l.t.Helper()
	if got := l.end(); got != served {
		l.t.Errorf("served %s\n  want %s", got, served)
	}
	if !slices.Equal(l.busy, busy) {
		l.t.Errorf("refused as busy: %v, want %v", l.busy, busy)
	}
}

// How many of one network wait does not change when another network is served.
func TestNetworksTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t, 64)
		for i := range 6 {
			l.ask(fmt.Sprint("a", i), stranger('a'))
		}
		l.ask("b0", stranger('b'))
		l.ask("b1", stranger('b'))
		l.ask("c0", stranger('c'))
		l.expect("a0 b0 c0 a1 b1 a2 a3 a4 a5")
	})
}

// Strangers of many networks leave every second turn to known askers, who take
// turns as well.
func TestKnownAskersGetEverySecondTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t, 64)
		for i := range byte(8) {
			l.ask(fmt.Sprint("s", i), stranger(i))
		}
		for i := range 3 {
			l.ask(fmt.Sprint("k", i), known('k'))
		}
		l.ask("m0", known('m'))
		l.expect("s0 k0 s1 m0 s2 k1 s3 k2 s4 s5 s6 s7")
	})
}

// A network that fills the queue loses its own newest waiters to others, until it
// has no more places than they have. It gets none back by asking for more.
func TestFullQueueTakesFromTheLargestNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t, 6)
		for i := range 6 {
			l.ask(fmt.Sprint("a", i), stranger('a'))
		}
		l.ask("a6", stranger('a')) // refused itself
		for i := range 4 {
			l.ask(fmt.Sprint("b", i), stranger('b')) // takes the places of a5, a4 and a3; b3 is refused
		}
		l.ask("a7", stranger('a'))
		l.expect("a0 b0 a1 b1 a2 b2", "a6", "a5", "a4", "a3", "b3", "a7")
	})
}

// Each class has half of a full queue, in whatever order they come.
func TestEachClassHasHalfOfAFullQueue(t *testing.T) {
	for _, first := range []bool{false, true} { // known?
		synctest.Test(t, func(t *testing.T) {
			l := newLine(t, 8)
			for i := range byte(8) {
				by := stranger(i)
				by.Known = first
				l.ask(fmt.Sprint("a", i), by)
			}
			for i := range byte(6) {
				by := stranger(100 + i)
				by.Known = !first
				l.ask(fmt.Sprint("b", i), by)
			}
			want := "a0 b0 a1 b1 a2 b2 a3 b3"
			if first {
				want = "b0 a0 b1 a1 b2 a2 b3 a3" // the turn was that of strangers
			}
			if got := l.end(); len(l.busy) != 6 || len(got) != len(want) || strings.Count(got, "a") != 4 {
				t.Errorf("known first: %t: served %s, refused as busy: %v, want %s", first, got, l.busy, want)
			}
			if slices.Contains(l.busy, "a0") || !slices.Contains(l.busy, "b4") || !slices.Contains(l.busy, "b5") {
				t.Errorf("known first: %t: refused as busy: %v", first, l.busy)
			}
		})
	}
}

// A hash that needs all the memory is not overtaken for ever by known askers who
// need little.
func TestCostlyHashIsNotOvertakenForEver(t *testing.T) {
	heavy, err := account.NewCheapHasher(t, account.Params{MemoryKiB: 1024, Iterations: 1, Parallelism: 1}, 1, 0).
		Hash(t.Context(), account.Asker{}, account.NewPassword("x"))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		h, running, release := blocked(t, 2, 64)
		var all sync.WaitGroup
		light := func() {
			all.Go(func() { _, _ = h.Hash(t.Context(), known(1), account.NewPassword("x")) })
			synctest.Wait()
		}
		light()
		light()
		done := false
		all.Go(func() {
			_, _, err := h.Verify(t.Context(), stranger(2), account.NewPassword("x"), heavy)
			done = err == nil
		})
		synctest.Wait()
		for i := 0; !done; i++ {
			if i > 6 {
				t.Fatalf("%d of those who came later went first", i)
			}
			light()
			release <- struct{}{}
			synctest.Wait()
		}
		for running.Load() > 0 {
			release <- struct{}{}
			synctest.Wait()
		}
		all.Wait()
	})
}

// After any order of arrivals, departures and refusals the queue is empty, and all
// memory is free.
func TestQueueLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := account.NewCheapHasher(t, account.CheapParams, 3, 20)
		h.Observe(false, func(string) { time.Sleep(rand.N(20 * time.Millisecond)) }) //nolint:forbidigo // in a bubble
		most := 0
		var all sync.WaitGroup
		for range 3000 {
			by := stranger(byte(rand.IntN(30)))
			by.Known = rand.IntN(3) == 0
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), rand.N(200*time.Millisecond)+1)
				defer cancel()
				if _, err := h.Hash(ctx, by, account.NewPassword("x")); err != nil && !errors.Is(err, account.ErrBusy) {
					t.Error(err)
				}
			})
			time.Sleep(rand.N(4 * time.Millisecond)) //nolint:forbidigo // in a bubble
			most = max(most, h.Waiting())
		}
		all.Wait()
		if most > 20 || most < 10 {
			t.Errorf("%d waited at most, want up to 20", most)
		}
		if h.Waiting() != 0 || h.Idle() != nil {
			t.Errorf("%d wait at the end; %v", h.Waiting(), h.Idle())
		}
	})
}
