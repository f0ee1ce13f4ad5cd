package throttle_test

import (
	"context"
	"net/netip"
	"testing"

	"github.com/flakepass/flakepass/internal/limit"
	"github.com/flakepass/flakepass/internal/throttle"
)

// What nobody learnt anything by is no guess, wherever it was counted: at the
// place, for the account, for the address and for the device; and giving it back
// gives nobody more than there was.
func TestReturnedAttemptsAreNotCounted(t *testing.T) {
	g := gate(t, func(a throttle.Attempt) (bool, error) { return string(a.Device) == "phone", nil })
	a := throttle.Attempt{Account: "ada", Address: home, Device: []byte("phone")}
	for i := range 500 {
		taken, err := g.Login(t.Context(), a)
		if err != nil {
			t.Fatalf("attempt %d: %v", i+1, err)
		}
		gone, leave := context.WithCancel(t.Context())
		leave()
		g.Return(gone, taken)
	}
	stranger := throttle.Attempt{Account: "ada", Address: home}
	through := 0
	for range 20 {
		if login(t, g, stranger) == nil {
			through++
		}
	}
	if through != limit.Default().LoginPlace[0].Count {
		t.Errorf("%d guesses got through, want 5", through)
	}
	// From here on the device gets past the place, and has attempts of its own.
	for range 200 {
		taken, err := g.Login(t.Context(), a)
		if err != nil {
			break // the address has no more
		}
		g.Return(t.Context(), taken)
	}
	used := 0
	for i := range 1000 {
		from := netip.AddrFrom4([4]byte{203, 0, byte(i >> 8), byte(i)})
		if login(t, g, throttle.Attempt{Account: "ada", Address: from, Device: []byte("phone")}) == nil {
			used++
		}
	}
	if want := 2*limit.Default().LoginAccount.Count - 5; used != want {
		t.Errorf("%d guesses with the device, want %d", used, want)
	}
}

// What was refused has taken nothing that could be given back.
func TestRefusedAttemptsGiveNothingBack(t *testing.T) {
	g := gate(t, nil)
	a := throttle.Attempt{Account: "ada", Address: home}
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
	g := &throttle.Gate{Limits: defaults}
	none := &limit.Limits{}
	g.Limits = func() *limit.Limits { return none }
	if n := testing.AllocsPerRun(100, func() { _ = g.Introspect(t.Context(), 7, 1) }); n > 1 { // the key
		t.Errorf("%v allocations", n)
	}
}
