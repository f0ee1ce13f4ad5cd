//nolint:forbidigo // every Sleep is in a synctest bubble, where time is the test's own
package ratelimit_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/internal/domain/limit"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/proof/ratelimittest"
	"github.com/flakepass/flakepass/internal/store/memstore"
)

var home, away = netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("198.51.100.7")

// Each further guess waits longer.
func TestFailuresInARowWaitLongerAndLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := limiter(t, nil)
		a := ratelimit.Attempt{Account: "ada", Address: home}
		var waits []time.Duration
		first := 0 // attempts before one has to wait
		for range 150 {
			err := login(t, g, a)
			limited, ok := errors.AsType[*ratelimit.LimitedError](err)
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
		g := limiter(t, nil)
		a := ratelimit.Attempt{Account: "ada", Address: home}
		for i := range 200 {
			taken, err := g.Login(t.Context(), a)
			if err != nil {
				t.Fatalf("login %d with the right password: %v", i, err)
			}
			g.LoggedIn(t.Context(), taken, 7)
			time.Sleep(time.Second)
		}
	})
}

// A thousand guesses at the same time are counted before any is made.
func TestParallelGuessesAreCounted(t *testing.T) {
	g := limiter(t, nil)
	var through atomic.Int64
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			if login(t, g, ratelimit.Attempt{Account: "ada", Address: home}) == nil {
				through.Add(1)
			}
		})
	}
	all.Wait()
	if n := through.Load(); n != 5 {
		t.Errorf("%d of 100 guesses at the same time got through, want 5", n)
	}
}

// owner has logged in to ada's account at home and on a phone, in a deployment
// whose clock is that of a bubble.
func owner(t *testing.T) (g *ratelimit.Limiter, phone ratelimit.DeviceCredential) {
	t.Helper()
	g = limiter(t, nil)
	a := ratelimit.Attempt{Account: "ada", Address: home}
	taken, err := g.Login(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	g.LoggedIn(t.Context(), taken, 7)
	return g, g.NewDevice(a)
}

// However often the password was right before, ten wrong ones are told of, and eight are not.
func TestRightPasswordsAreNoFailures(t *testing.T) {
	for rights := range 6 {
		for wrong, told := range map[int]bool{8: false, 10: true} {
			g, _ := owner(t)
			a := ratelimit.Attempt{Account: "ada", Address: home}
			right := func() ratelimit.Notice {
				taken, err := g.Login(t.Context(), a)
				if err != nil {
					t.Fatal(err)
				}
				return g.LoggedIn(t.Context(), taken, 7)
			}
			for range rights {
				right()
			}
			for range wrong {
				if err := login(t, g, a); err != nil {
					t.Fatal(err)
				}
			}
			if n := right(); (n.Failures > 0) != told {
				t.Errorf("after %d right passwords and %d wrong ones: %d failures", rights, wrong, n.Failures)
			}
		}
	}
}

// guess is a stranger's attempt at an account, from the i-th of many networks.
func guess(account string, i int) ratelimit.Attempt {
	return ratelimit.Attempt{Account: account, Address: netip.AddrFrom4([4]byte{203, byte(i >> 8), byte(i), 1})}
}

// An attacker in thousands of networks uses up what strangers have at the account.
// Its owner still gets in, at a place or on a device that has been seen before.
func TestOwnerIsNotLockedOutByAnAttacker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, phone := owner(t)
		through := 0
		for i := range 5000 {
			if login(t, g, guess("ada", i)) == nil {
				through++
			}
			time.Sleep(100 * time.Millisecond)
		}
		if through > 101 { // one more in each seven hours
			t.Errorf("%d guesses got through", through)
		}
		for name, a := range map[string]ratelimit.Attempt{
			"at a known place":                 {Account: "ada", Address: home},
			"on a known device":                {Account: "ada", Address: away, Credential: phone},
			"with the token of the last login": {Account: "ada", Address: away, ShownToken: []byte("token")},
		} {
			if taken, err := g.Login(t.Context(), a); err != nil || !taken.Known {
				t.Errorf("the owner, %s: known %v, %v", name, taken.Known, err)
			}
		}
		for name, a := range map[string]ratelimit.Attempt{
			"a stranger":                         {Account: "ada", Address: away},
			"with a token of no use":             {Account: "ada", Address: away, ShownToken: []byte("other")},
			"with the device of another account": {Account: "ada", Address: away, Credential: g.NewDevice(ratelimit.Attempt{Account: "bob"})},
			"with that of another deployment":    {Account: "ada", Address: away, Credential: (&ratelimit.Limiter{Key: []byte("other")}).NewDevice(ratelimit.Attempt{Account: "ada"})},
		} {
			if err := login(t, g, a); err == nil {
				t.Errorf("%s gets in", name)
			}
		}
		if err := login(t, g, ratelimit.Attempt{Account: "bob", Address: away}); err != nil {
			t.Errorf("another account: %v", err)
		}
		time.Sleep(91 * 24 * time.Hour)
		for i := range 200 {
			_ = login(t, g, guess("ada", i))
		}
		if err := login(t, g, ratelimit.Attempt{Account: "ada", Address: away, Credential: phone}); err == nil {
			t.Error("a device is known for ever")
		}
	})
}

// A login of the owner gives an attacker no new attempts.
func TestOwnersLoginGivesStrangersNothing(t *testing.T) {
	g, phone := owner(t)
	through := 0
	for i := range 500 {
		if login(t, g, guess("ada", i)) == nil {
			through++
		}
		if i%10 == 0 {
			taken, err := g.Login(t.Context(), ratelimit.Attempt{Account: "ada", Address: home, Credential: phone})
			if err != nil {
				t.Fatal(err)
			}
			g.LoggedIn(t.Context(), taken, 7)
		}
	}
	if through != 100 {
		t.Errorf("%d guesses got through, want 100", through)
	}
}

// One network, with any number of addresses, cannot use up what strangers have at
// an account; five can.
func TestOneNetworkCannotSpendTheAccount(t *testing.T) {
	for name, from := range map[string]func(i int) netip.Addr{
		"IPv4/24": func(i int) netip.Addr { return netip.AddrFrom4([4]byte{203, 0, 113, byte(i)}) },
		"IPv6/56": func(i int) netip.Addr {
			return netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 0, 1, 7, byte(i), 15: 1})
		},
		"IPv6/48": func(i int) netip.Addr {
			return netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 0, 1, byte(i), 0, 15: 1})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, through := limiter(t, nil), 0
				var held *ratelimit.LimitedError
				for i := range 2560 { // ten from each address
					err := login(t, g, ratelimit.Attempt{Account: "ada", Address: from(i % 256)})
					if err == nil {
						through++
					}
					held, _ = errors.AsType[*ratelimit.LimitedError](err)
					time.Sleep(time.Second)
				}
				if through != 20 || held == nil || held.Limit != "login-network" {
					t.Errorf("%d guesses got through, want 20; then %v", through, held)
				}
				for i := range 5 {
					for j := range 30 {
						_ = login(t, g, ratelimit.Attempt{Account: "ada", Address: netip.AddrFrom4([4]byte{198, 51, byte(i), byte(j)})})
					}
					err := login(t, g, ratelimit.Attempt{Account: "ada", Address: away})
					if (err == nil) != (i < 3) { // with the one above, and this one that counts, too
						t.Errorf("a stranger elsewhere, after %d networks more: %v", i+1, err)
					}
				}
			})
		})
	}
}

// A network that has used its share waits as long, also when a sweep comes after the account has all its attempts
// again. What limits nothing is deleted.
func TestSweepLeavesTheShareOfANetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := limiter(t, nil)
		through := func() (n int) {
			for i := range 40 {
				if login(t, g, ratelimit.Attempt{Account: "ada", Address: netip.AddrFrom4([4]byte{203, 0, 113, byte(i)})}) == nil {
					n++
				}
			}
			return n
		}
		if n := through(); n != 20 {
			t.Fatalf("%d guesses got through, want 20", n)
		}
		for _, after := range []struct {
			time            time.Duration
			guards, guesses int
		}{{6*24*time.Hour + time.Hour, 1, 4}, {36 * time.Hour, 1, 1}, {31 * 24 * time.Hour, 0, 20}} {
			time.Sleep(after.time)
			if err := ratelimit.Clear(t.Context(), records(g)); err != nil || records(g).Guards() != after.guards {
				t.Errorf("after %v: %d counts, %v; want %d", after.time, records(g).Guards(), err, after.guards)
			}
			if n := through(); n != after.guesses {
				t.Errorf("after %v: %d guesses got through, want %d", after.time, n, after.guesses)
			}
		}
	})
}

// Behind one NAT, or a proxy that is not configured, everybody has one address.
// A stranger there who guesses keeps the owner waiting who shows nothing, and not
// the owner's device.
func TestStrangerAtTheSamePlaceDoesNotLockTheDeviceOut(t *testing.T) {
	g, phone := owner(t)
	for i := range 200 {
		_ = login(t, g, ratelimit.Attempt{Account: "ada", Address: home})
		_ = login(t, g, ratelimit.Attempt{Account: fmt.Sprint("user", i), Address: home})
	}
	for range 2 {
		if err := login(t, g, ratelimit.Attempt{Account: "ada", Address: home, Credential: phone}); err != nil {
			t.Errorf("the owner's device: %v", err)
		}
	}
	if err := login(t, g, ratelimit.Attempt{Account: "ada", Address: home}); err == nil {
		t.Error("who shows nothing gets past the limit of the place")
	}
}

// An attacker with a stolen token or credential cannot be distinguished from the
// owner's device, and has as many addresses as they like. That is no licence to guess
// the password for ever.
func TestKnownDeviceHasALimitWhereverItGoes(t *testing.T) {
	g, phone := owner(t)
	strangers := 0
	for name, stolen := range map[string]ratelimit.Attempt{
		"credential": {Account: "ada", Credential: phone}, "token": {Account: "ada", ShownToken: []byte("token")},
	} {
		known := 0
		for i := range 1000 {
			stolen.Address = guess("", i).Address
			if taken, err := g.Login(t.Context(), stolen); err == nil && taken.Known {
				known++
			} else if err == nil {
				strangers++
			}
		}
		if known != 100 {
			t.Errorf("%d guesses got through with a stolen %s, want 100", known, name)
		}
	}
	if strangers != 100 {
		t.Errorf("%d guesses got through behind these, want the 100 that strangers have", strangers)
	}
	if err := login(t, g, ratelimit.Attempt{Account: "ada", Address: home}); err != nil {
		t.Errorf("the owner at home, who shows nothing: %v", err)
	}
}

// Whoever has stolen the credential of a device, or a token, cannot lock its owner out, who goes on
// to send it: when its count is used up, it counts as not shown.
func TestStolenCredentialLocksNobodyOut(t *testing.T) {
	for name, stolen := range map[string]ratelimit.Attempt{"credential": {Account: "ada"}, "token": {Account: "ada", ShownToken: []byte("token")}} {
		g, phone := owner(t)
		if name == "credential" {
			stolen.Credential = phone
		}
		for i := range 100 {
			stolen.Address = guess("", i).Address
			if taken, err := g.Login(t.Context(), stolen); err != nil || !taken.Known {
				t.Fatalf("guess %d with the %s: known %t, %v", i, name, taken.Known, err)
			}
		}
		for _, from := range []struct {
			netip.Addr
			known bool
		}{{home, true}, {away, false}} {
			stolen.Address = from.Addr
			taken, err := g.Login(t.Context(), stolen)
			if err != nil || taken.Known != from.known || taken.Device {
				t.Errorf("the owner with the %s at %v: known %t, as a device %t, %v", name, from.Addr, taken.Known, taken.Device, err)
			}
			g.LoggedIn(t.Context(), taken, 7)
		}
	}
}

// What cannot be counted is not tried, and takes nothing.
func TestNothingIsTriedThatCannotBeCounted(t *testing.T) {
	g := limiter(t, nil)
	away := errors.New("no route")
	records(g).Fail(away)
	for range 20 {
		err := login(t, g, ratelimit.Attempt{Account: "ada", Address: home})
		if _, limited := errors.AsType[*ratelimit.LimitedError](err); limited || !errors.Is(err, away) {
			t.Fatalf("got %v, want %v", err, away)
		}
	}
	records(g).Fail(nil)
	for range 5 {
		if err := login(t, g, ratelimit.Attempt{Account: "ada", Address: home}); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	}
}

// Names without an account are counted as others are, by as many questions, and all
// of them together take a bounded number of rows.
func TestUnknownNamesAreCountedAlike(t *testing.T) {
	g := limiter(t, nil)
	type path struct{ looks, swaps int }
	var seen [2][]path
	for n, name := range []string{"ada", "nobody"} {
		for i := range 120 {
			_ = login(t, g, guess(name, i))
			looks, swaps := records(g).Done()
			seen[n] = append(seen[n], path{looks, swaps})
		}
		if err := login(t, g, guess(name, 1000)); err == nil {
			t.Errorf("%s: a guess beyond all", name)
		}
		records(g).Done()
	}
	if !slices.Equal(seen[0], seen[1]) || seen[0][0] != (path{1, 1}) || seen[0][119] != (path{1, 0}) {
		t.Errorf("questions and changes: %v", seen)
	}
}

func TestAddressHasALimitWhateverTheAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := limiter(t, nil)
		through := 0
		for i := range 1000 {
			if login(t, g, ratelimit.Attempt{Account: fmt.Sprint("user", i), Address: home}) == nil {
				through++
			}
		}
		if through != limit.Default().LoginAddress.Count {
			t.Errorf("%d accounts tried from one address", through)
		}
		if err := login(t, g, ratelimit.Attempt{Account: "user1", Address: away}); err != nil {
			t.Errorf("from elsewhere: %v", err)
		}
	})
}

func TestRegistrationsHaveALimit(t *testing.T) {
	var refused []string
	g := limiter(t, nil)
	g.Refused = func(policy string) { refused = append(refused, policy) }
	for i := range 31 {
		if _, err := g.Register(t.Context(), home); (err != nil) != (i == 30) {
			t.Errorf("registration %d: %v", i+1, err)
		}
	}
	if len(refused) != 1 || refused[0] != "register" {
		t.Errorf("refused %v", refused)
	}
}

func TestLimitsAreThoseOfTheMoment(t *testing.T) {
	g := limiter(t, nil)
	limits := limit.Default()
	g.Limits = func() *limit.Limits { return &limits }
	a := ratelimit.Attempt{Account: "ada", Address: home}
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

// The keys of stored buckets do not show who tries to log in.
func TestKeysHideNames(t *testing.T) {
	keys := &spy{}
	g := limiter(t, nil)
	g.Store = keys
	_ = login(t, g, ratelimit.Attempt{Account: "correct horse battery", Address: home})
	other := &spy{}
	h := limiter(t, nil)
	h.Store, h.Key = other, []byte("another deployment")
	_ = login(t, h, ratelimit.Attempt{Account: "correct horse battery", Address: home})
	for i, k := range keys.keys {
		if strings.Contains(k, "horse") || (strings.HasPrefix(k, "p") || strings.HasPrefix(k, "n")) && k == other.keys[i] {
			t.Errorf("key %q", k)
		}
	}
	if len(keys.keys) != 4 {
		t.Errorf("keys %q", keys.keys)
	}
}

func TestPlace(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "::ffff:192.0.2.1": "192.0.2.1", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::",
		"2001:db8:1:2::": "2001:db8:1:2::", "fe80::1%eth0": "fe80::", "::1": "::",
	} {
		if got := ratelimit.Place(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	if got := ratelimit.Place(netip.Addr{}); got != "unknown" {
		t.Errorf("no address: %q", got)
	}
}

func login(t *testing.T, g *ratelimit.Limiter, a ratelimit.Attempt) error {
	t.Helper()
	_, err := g.Login(t.Context(), a)
	return err
}

// limiter is one of a deployment in which ada and bob have accounts. store is nil for
// one in memory.
func limiter(t *testing.T, store ratelimit.Store) *ratelimit.Limiter {
	t.Helper()
	if store == nil {
		store = &memstore.Buckets{}
	}
	r := &ratelimittest.Records{}
	r.Add("ada", 7, []byte("token"))
	r.Add("bob", 8, nil)
	return &ratelimit.Limiter{Store: store, Limits: defaults, Records: r, Key: []byte("secret")}
}

func records(g *ratelimit.Limiter) *ratelimittest.Records { return g.Records.(*ratelimittest.Records) }

func defaults() *limit.Limits { l := limit.Default(); return &l }

// A spy allows everything and remembers the keys.
type spy struct{ keys []string }

func (s *spy) Take(_ context.Context, b ratelimit.Bucket) ratelimit.Verdict {
	s.keys = append(s.keys, b.Key)
	return ratelimit.Verdict{Allowed: true}
}

func (s *spy) Return(context.Context, ratelimit.Bucket, ratelimit.Verdict) {}

func (s *spy) Forget(context.Context, string) {}
