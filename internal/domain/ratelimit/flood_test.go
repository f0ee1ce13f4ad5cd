package ratelimit_test

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/store/memstore"
)

// Floods with fresh names and places, counted or given back, give no new guesses at
// an account that has none left, also after a restart; what they leave is bounded.
func TestFloodErasesNoGuard(t *testing.T) {
	n := 20_000
	if os.Getenv("FLAKEPASS_ATTACK") == "whole" {
		n = 1_000_000
	}
	synctest.Test(t, func(t *testing.T) {
		g := limiter(t, nil)
		for i := range 100 {
			if err := login(t, g, guess("ada", i)); err != nil {
				t.Fatal(err)
			}
		}
		for i := range n {
			a := ratelimit.Attempt{Account: fmt.Sprint("user", i), Address: netip.AddrFrom4([4]byte{byte(1 + i>>16), byte(i >> 8), byte(i), 1})}
			taken, err := g.Login(t.Context(), a)
			if err == nil && i%2 == 0 {
				g.Return(t.Context(), taken)
			}
			if i%100 == 0 {
				time.Sleep(time.Second) //nolint:forbidigo // in a bubble
			}
		}
		if err := login(t, g, guess("ada", 1000)); err == nil {
			t.Error("the account has guesses again")
		}
		g.Store = &memstore.Buckets{} // a restart
		limited, _ := errors.AsType[*ratelimit.LimitedError](login(t, g, guess("ada", 1001)))
		if limited == nil || limited.Limit != "login-account" {
			t.Errorf("after a restart: %v", limited)
		}
		if rows := records(g).Guards(); rows > 1<<20+1 {
			t.Errorf("%d counts", rows)
		}
	})
}

// New accounts, and attempts whatever the name, are counted by the networks around
// an IPv6 address, too: 60 places in one /48 have as many as one.
func TestPlacesOfOneNetworkAreCountedTogether(t *testing.T) {
	from := func(i int) netip.Addr {
		return netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 0, 1, byte(i >> 2), byte(i), 15: 1})
	}
	synctest.Test(t, func(t *testing.T) { // on a slow machine attempts would come back meanwhile
		g := limiter(t, nil)
		registered, tried := 0, 0
		for i := range 60 {
			if _, err := g.Register(t.Context(), from(i)); err == nil {
				registered++
			}
			for j := range 4 {
				if login(t, g, ratelimit.Attempt{Account: fmt.Sprint("user", i, "-", j), Address: from(i)}) == nil {
					tried++
				}
			}
		}
		if registered != limit.Default().Register.Count || tried != limit.Default().LoginAddress.Count {
			t.Errorf("%d accounts and %d attempts, want 30 and 120", registered, tried)
		}
		if _, err := g.Register(t.Context(), away); err != nil {
			t.Errorf("elsewhere: %v", err)
		}
	})
}
