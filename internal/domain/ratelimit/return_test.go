package ratelimit_test

import (
	"context"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
)

// An attempt that was not decided is no guess, wherever it was counted: at the
// place, for the account, for the address, for the network and for the device; and
// giving it back restores no more than there was.
func TestReturnedAttemptsAreNotCounted(t *testing.T) {
	g, phone := owner(t)
	returned := func(a ratelimit.Attempt) {
		t.Helper()
		for i := range 500 {
			taken, err := g.Login(t.Context(), a)
			if err != nil {
				t.Fatalf("attempt %d: %v", i+1, err)
			}
			gone, leave := context.WithCancel(t.Context())
			leave()
			g.Return(gone, taken)
		}
	}
	used := func(a func(i int) ratelimit.Attempt) (through int) {
		for i := range 1000 {
			if login(t, g, a(i)) == nil {
				through++
			}
		}
		return through
	}
	returned(ratelimit.Attempt{Account: "ada", Address: away})
	if n := used(func(int) ratelimit.Attempt { return ratelimit.Attempt{Account: "ada", Address: away} }); n != 5 {
		t.Errorf("%d guesses got through at one place, want 5", n)
	}
	returned(ratelimit.Attempt{Account: "ada", Address: home, Credential: phone})
	if n := used(func(i int) ratelimit.Attempt { return guess("ada", i) }); n != 95 {
		t.Errorf("%d guesses got through elsewhere, want the 95 that are left", n)
	}
	if n := used(func(i int) ratelimit.Attempt { a := guess("ada", i); a.Credential = phone; return a }); n != 100 {
		t.Errorf("%d guesses got through with the device, want 100", n)
	}
}

// Who leaves after the password was compared leaves what everybody does: the place is known, the count
// of the place is empty, and a link has reset what strangers were counted for.
func TestWhoLeavesAfterAProofIsRemembered(t *testing.T) {
	g := limiter(t, nil)
	g.Unremembered = func(_ context.Context, err error) { t.Error(err) }
	gone, leave := context.WithCancel(t.Context())
	leave()
	here := ratelimit.Attempt{Account: "ada", Address: home}
	right := func(known bool) {
		t.Helper()
		taken, err := g.Login(t.Context(), here)
		if err != nil || taken.Known != known {
			t.Fatalf("known %v, %v", taken.Known, err)
		}
		g.LoggedIn(gone, taken, 7)
	}
	right(false)
	for range 98 {
		if err := login(t, g, here); err != nil {
			t.Fatal(err)
		}
	}
	right(true)
	if err := login(t, g, here); err != nil {
		t.Errorf("after the right password: %v", err)
	}
	for i := range 200 {
		_ = login(t, g, guess("ada", i))
	}
	g.WasReset(gone, here)
	if err := login(t, g, guess("ada", 300)); err != nil {
		t.Errorf("after the link: %v", err)
	}
}

// What was refused has taken nothing that could be given back.
func TestRefusedAttemptsGiveNothingBack(t *testing.T) {
	g := limiter(t, nil)
	a := ratelimit.Attempt{Account: "ada", Address: home}
	through := 0
	for range 50 {
		taken, err := g.Login(t.Context(), a)
		if err == nil {
			through++
		} else {
			g.Return(t.Context(), taken)
		}
	}
	if through != 5 {
		t.Errorf("%d got through, want 5", through)
	}
}

// A question after the limits in force costs nothing, at each attempt.
func TestLimitsAreAskedWithoutAnAllocation(t *testing.T) {
	g := &ratelimit.Limiter{Limits: defaults}
	none := &limit.Limits{}
	g.Limits = func() *limit.Limits { return none }
	if n := testing.AllocsPerRun(100, func() { _ = g.Introspect(t.Context(), 7, 1) }); n > 1 { // the key
		t.Errorf("%v allocations", n)
	}
}
