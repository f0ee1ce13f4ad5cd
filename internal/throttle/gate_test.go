//nolint:forbidigo // every Sleep is in a synctest bubble, where time is the test's own
package throttle_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/limit"
	"github.com/flakepass/flakepass/internal/throttle"
	"github.com/flakepass/flakepass/internal/throttle/memlimit"
)

var home, away = netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("198.51.100.7")

// Whoever goes on guessing waits longer and longer.
func TestFailuresInARowWaitLongerAndLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate(t, nil)
		a := throttle.Attempt{Account: "ada", Address: home}
		var waits []time.Duration
		first := 0 // attempts before one has to wait
		for range 150 {
			err := login(t, g, a)
			limited, ok := errors.AsType[*throttle.LimitedError](err)
			switch {
			case err == nil && len(waits) == 0:
				first++
			case err == nil:
			case !ok || limited.Retry <= 0:
				t.Fatalf("refused with %v", err)
			default:
				waits = append(waits, limited.Retry)
				time.Sleep(limited.Retry)
			}
		}
		if first != 5 {
			t.Errorf("%d attempts at once, want 5: %v", first, waits)
		}
		if last := waits[len(waits)-1]; waits[0] > time.Minute || last < 10*time.Minute {
			t.Errorf("the first wait is %v, the last %v", waits[0], last)
		}
	})
}

func TestSuccessForgetsTheFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate(t, nil)
		a := throttle.Attempt{Account: "ada", Address: home}
		for i := range 200 {
			if err := login(t, g, a); err != nil {
				t.Fatalf("login %d of somebody who knows the password: %v", i, err)
			}
			g.LoggedIn(t.Context(), a, 7)
			time.Sleep(time.Second)
		}
	})
}

// A thousand guesses at the same time are counted before any is made.
func TestParallelGuessesAreCounted(t *testing.T) {
	g := gate(t, nil)
	var through atomic.Int64
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			if login(t, g, throttle.Attempt{Account: "ada", Address: home}) == nil {
				through.Add(1)
			}
		})
	}
	all.Wait()
	if n := through.Load(); n != 5 {
		t.Errorf("%d of 100 guesses at the same time got through, want 5", n)
	}
}

// An attacker at a thousand addresses uses up what the account has. Its owner
// still gets in, at a place or on a device that has been seen before.
func TestOwnerIsNotLockedOutByAnAttacker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		known := func(a throttle.Attempt) (bool, error) {
			return a.Account == "ada" && (a.Address == home || string(a.Device) == "phone"), nil
		}
		g := gate(t, known)
		through := 0
		for i := range 5000 {
			from := netip.AddrFrom4([4]byte{203, byte(i >> 16), byte(i >> 8), byte(i)})
			if login(t, g, throttle.Attempt{Account: "ada", Address: from}) == nil {
				through++
			}
			time.Sleep(100 * time.Millisecond)
		}
		if through > 101 { // one more in each seven hours
			t.Errorf("%d guesses got through", through)
		}
		for name, a := range map[string]throttle.Attempt{
			"at a known place":  {Account: "ada", Address: home},
			"on a known device": {Account: "ada", Address: away, Device: []byte("phone")},
		} {
			if err := login(t, g, a); err != nil {
				t.Errorf("the owner, %s: %v", name, err)
			}
		}
		for name, a := range map[string]throttle.Attempt{
			"a stranger":              {Account: "ada", Address: away},
			"with a device of no use": {Account: "ada", Address: away, Device: []byte("other")},
		} {
			if err := login(t, g, a); err == nil {
				t.Errorf("%s gets in", name)
			}
		}
		if err := login(t, g, throttle.Attempt{Account: "bob", Address: away}); err != nil {
			t.Errorf("another account: %v", err)
		}
	})
}

// Behind one NAT, or a proxy that is not configured, everybody has one address.
// A stranger there who guesses keeps the owner waiting who shows nothing, and not
// the owner's device.
func TestStrangerAtTheSamePlaceDoesNotLockTheDeviceOut(t *testing.T) {
	g := gate(t, func(a throttle.Attempt) (bool, error) { return a.Address == home || string(a.Device) == "phone", nil })
	for range 20 {
		_ = login(t, g, throttle.Attempt{Account: "ada", Address: home, Device: []byte("made up")})
	}
	if err := login(t, g, throttle.Attempt{Account: "ada", Address: home, Device: []byte("phone")}); err != nil {
		t.Errorf("the owner's device: %v", err)
	}
	for _, device := range []string{"", "made up"} {
		if err := login(t, g, throttle.Attempt{Account: "ada", Address: home, Device: []byte(device)}); err == nil {
			t.Errorf("device %q gets past the limit of the place", device)
		}
	}
}

// Whoever has stolen a token has the owner's device, as far as anybody can tell,
// and as many addresses as they like. That is no licence to guess the password
// for ever.
func TestKnownDeviceHasALimitWhereverItGoes(t *testing.T) {
	g := gate(t, func(a throttle.Attempt) (bool, error) { return a.Address == home || string(a.Device) == "stolen", nil })
	through := 0
	for i := range 1000 {
		from := netip.AddrFrom4([4]byte{203, 0, byte(i >> 8), byte(i)})
		if login(t, g, throttle.Attempt{Account: "ada", Address: from, Device: []byte("stolen")}) == nil {
			through++
		}
	}
	if through != 200 { // those of the account, and as many of the device
		t.Errorf("%d guesses got through with a stolen token, want 200", through)
	}
	if err := login(t, g, throttle.Attempt{Account: "ada", Address: home}); err != nil {
		t.Errorf("the owner at home, who shows no token: %v", err)
	}
}

func TestUnknownPlaceIsAssumedIfNobodyCanTell(t *testing.T) {
	g := gate(t, func(throttle.Attempt) (bool, error) { return true, errors.New("no route") })
	refused := 0
	for i := range 200 {
		from := netip.AddrFrom4([4]byte{203, 0, 113, byte(i)})
		if login(t, g, throttle.Attempt{Account: "ada", Address: from}) != nil {
			refused++
		}
	}
	if refused != 100 {
		t.Errorf("%d of 200 refused, want 100", refused)
	}
}

func TestAddressHasALimitWhateverTheAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate(t, nil)
		through := 0
		for i := range 1000 {
			if login(t, g, throttle.Attempt{Account: fmt.Sprint("user", i), Address: home}) == nil {
				through++
			}
		}
		if through != limit.Default().LoginAddress.Count {
			t.Errorf("%d accounts tried from one address", through)
		}
		if err := login(t, g, throttle.Attempt{Account: "user1", Address: away}); err != nil {
			t.Errorf("from elsewhere: %v", err)
		}
	})
}

func TestRegistrationsHaveALimit(t *testing.T) {
	var told []string
	g := gate(t, nil)
	g.Refused = func(policy string) { told = append(told, policy) }
	for i := range 31 {
		if err := g.Register(t.Context(), home); (err != nil) != (i == 30) {
			t.Errorf("registration %d: %v", i+1, err)
		}
	}
	if len(told) != 1 || told[0] != "register" {
		t.Errorf("told %v", told)
	}
}

func TestLimitsAreThoseOfTheMoment(t *testing.T) {
	g := gate(t, nil)
	limits := limit.Default()
	g.Limits = func() *limit.Limits { return &limits }
	a := throttle.Attempt{Account: "ada", Address: home}
	for range 5 {
		if err := login(t, g, a); err != nil {
			t.Fatal(err)
		}
	}
	if login(t, g, a) == nil {
		t.Fatal("a sixth attempt")
	}
	limits = limit.Limits{} // none at all
	for range 1000 {
		if err := login(t, g, a); err != nil {
			t.Fatal(err)
		}
	}
	limits.LoginAddress = limit.Rule{Count: 1, Per: time.Hour}
	_ = login(t, g, a)
	if login(t, g, a) == nil {
		t.Error("a limit that was set later is not kept")
	}
}

// Where buckets are kept nobody reads who tries to log in.
func TestKeysHideNames(t *testing.T) {
	keys := &spy{}
	g := gate(t, nil)
	g.Store = keys
	_ = login(t, g, throttle.Attempt{Account: "correct horse battery", Address: home})
	other := &spy{}
	h := gate(t, nil)
	h.Store, h.Key = other, []byte("another deployment")
	_ = login(t, h, throttle.Attempt{Account: "correct horse battery", Address: home})
	for i, k := range keys.keys {
		if strings.Contains(k, "horse") || (strings.HasPrefix(k, "p") || strings.HasPrefix(k, "n")) && k == other.keys[i] {
			t.Errorf("key %q", k)
		}
	}
	if len(keys.keys) != 5 {
		t.Errorf("keys %q", keys.keys)
	}
}

func TestPlace(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "::ffff:192.0.2.1": "192.0.2.1", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::",
		"2001:db8:1:2::": "2001:db8:1:2::", "fe80::1%eth0": "fe80::", "::1": "::",
	} {
		if got := throttle.Place(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	if got := throttle.Place(netip.Addr{}); got != "unknown" {
		t.Errorf("no address: %q", got)
	}
}

func login(t *testing.T, g *throttle.Gate, a throttle.Attempt) error {
	t.Helper()
	_, err := g.Login(t.Context(), a)
	return err
}

func gate(t *testing.T, known func(throttle.Attempt) (bool, error)) *throttle.Gate {
	t.Helper()
	store, err := memlimit.New(10_000)
	if err != nil {
		t.Fatal(err)
	}
	if known == nil {
		known = func(throttle.Attempt) (bool, error) { return false, nil }
	}
	return &throttle.Gate{Store: store, Limits: defaults, Known: knownFunc(known), Key: []byte("secret")}
}

func defaults() *limit.Limits { l := limit.Default(); return &l }

type knownFunc func(throttle.Attempt) (bool, error)

func (f knownFunc) Knows(_ context.Context, a throttle.Attempt) (bool, error) { return f(a) }

func (knownFunc) Remember(context.Context, idworker.ID, netip.Addr) (bool, error) { return false, nil }

// A spy allows everything and remembers the keys.
type spy struct{ keys []string }

func (s *spy) Take(_ context.Context, b throttle.Bucket) throttle.Verdict {
	s.keys = append(s.keys, b.Key)
	return throttle.Verdict{Allowed: true}
}

func (s *spy) Return(context.Context, throttle.Bucket, throttle.Verdict) {}

func (s *spy) Forget(context.Context, string) {}
