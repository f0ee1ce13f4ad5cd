package throttle

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/netip"
	"strings"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/limit"
)

// A Known says whether somebody has logged in to an account before from that
// place, or on that device. It says no of an account that there is not. An error
// means that it cannot tell, and is taken for a no: whoever is asked about has
// reached a limit already.
//
// Remember notes that a user has logged in from there, and says whether that is
// new: the user has logged in before, and from none of the places that are kept.
type Known interface {
	Knows(ctx context.Context, a Attempt) (bool, error)
	Remember(ctx context.Context, user idworker.ID, from netip.Addr) (isNew bool, err error)
}

// An Attempt is somebody who wants to log in.
type Attempt struct {
	// Account is the normalised name, whether or not there is such an account. It
	// leaves this process only as a keyed hash: people type passwords there.
	Account string
	// Address is where it comes from.
	Address netip.Addr
	// Device is the hash of a token, as it is kept, of which the device has the text:
	// it was given that at a login before. nil if it shows none.
	Device []byte
}

// A Gate stands before what strangers may try. Set the fields once, before use.
type Gate struct {
	Store Store
	// Limits are the rules of the moment. It is asked at each attempt; nobody changes
	// what it points at.
	Limits func() *limit.Limits
	Known  Known
	// Key hides names in the keys of buckets.
	Key []byte
	// Unremembered, if set, hears that a place could not be noted.
	Unremembered func(ctx context.Context, err error)
	// Refused, if set, hears the name of each limit that has refused an attempt.
	Refused func(policy string)
	// Noticed, if set, hears of a right password that somebody should know about.
	// Whoever gave it waits.
	Noticed func(ctx context.Context, n Notice)
}

// Taken is what one attempt has taken, for [Gate.Return].
type Taken struct {
	// Known says that the account was logged in to before on that device or at
	// that place.
	Known bool
	all   []taken
}

type taken struct {
	bucket  Bucket
	verdict Verdict
}

// Login counts an attempt to log in, or refuses it with a [*LimitedError] before
// any password is looked at.
func (g *Gate) Login(ctx context.Context, a Attempt) (Taken, error) {
	limits := g.Limits()
	t := Taken{all: make([]taken, 0, 3+limit.MaxPlace)}
	if err := g.take(ctx, "login-address", Bucket{Key: "a:" + Place(a.Address), Rule: limits.LoginAddress}, &t); err != nil {
		return Taken{}, g.told(err)
	}
	// An attacker can use up what an account has, and must not lock its owner out.
	// One at the same place, behind one NAT or a proxy that nobody has configured,
	// can use up what the place has: then only the device can tell the owner.
	owner, account := a, Bucket{Key: g.accountKey(a), Rule: limits.LoginAccount}
	err := g.takePlace(ctx, a, limits, &t)
	if err != nil {
		owner.Address = netip.Addr{}
	} else if err = g.take(ctx, "login-account", account, &t); err == nil {
		return t, nil
	}
	if !g.knows(ctx, owner) {
		return Taken{}, g.told(err)
	}
	t.Known = true
	// A known place has limits of its own. A device goes from place to place, and
	// may be stolen: it has as much as the account, and no more.
	if len(a.Device) > 0 {
		if err := g.take(ctx, "login-account", Bucket{Key: g.deviceKey(a), Rule: limits.LoginAccount}, &t); err != nil {
			return Taken{}, g.told(err)
		}
	}
	return t, nil
}

func (g *Gate) takePlace(ctx context.Context, a Attempt, limits *limit.Limits, t *Taken) *LimitedError {
	rules, key := limits.LoginPlace[:limits.Place()], g.placeKey(a)
	for _, r := range rules {
		if err := g.take(ctx, "login", Bucket{Key: key, Rule: r, Beside: rules}, t); err != nil {
			return err
		}
	}
	return nil
}

// knows reports whether a comes from the owner, as far as can be told. Who shows
// nothing is not asked about.
func (g *Gate) knows(ctx context.Context, a Attempt) bool {
	if !a.Address.IsValid() && len(a.Device) == 0 {
		return false
	}
	known, err := g.Known.Knows(ctx, a)
	return err == nil && known
}

// LoggedIn forgets what was counted against whoever has just proved to be the
// owner, and against the account: only failures in a row count. It notes the
// place; where that fails, the login is as good.
func (g *Gate) LoggedIn(ctx context.Context, a Attempt, user idworker.ID) {
	n := Notice{User: user, Address: a.Address, Failures: g.failures(ctx, a)}
	g.Store.Forget(ctx, g.placeKey(a))
	g.Store.Forget(ctx, g.accountKey(a))
	if len(a.Device) > 0 {
		g.Store.Forget(ctx, g.deviceKey(a))
	}
	var err error
	if n.NewPlace, err = g.Known.Remember(ctx, user, a.Address); err != nil && g.Unremembered != nil {
		g.Unremembered(ctx, err)
	}
	if g.Noticed != nil && (n.NewPlace || n.Failures > 0) {
		g.Noticed(ctx, n)
	}
}

// Return gives back what an attempt has taken that has told nobody anything of
// a password. Call it at most once for each, and only if that is known: of what
// else went wrong, also because the client left, an attempt counts. It works
// after ctx has ended, too.
func (g *Gate) Return(ctx context.Context, t Taken) {
	ctx = context.WithoutCancel(ctx)
	for _, of := range t.all {
		g.Store.Return(ctx, of.bucket, of.verdict)
	}
}

// Register counts a new account, or refuses it with a [*LimitedError].
func (g *Gate) Register(ctx context.Context, from netip.Addr) error {
	if err := g.take(ctx, "register", Bucket{Key: "r:" + Place(from), Rule: g.Limits().Register}, nil); err != nil {
		return g.told(err)
	}
	return nil
}

// Reset counts an attempt to set a password by the token of a reset, or refuses
// it with a [*LimitedError]. The tokens cannot be guessed: it bounds the load, by
// the rule for new accounts and a count of its own.
func (g *Gate) Reset(ctx context.Context, from netip.Addr) error {
	if err := g.take(ctx, "reset", Bucket{Key: "s:" + Place(from), Rule: g.Limits().Register}, nil); err != nil {
		return g.told(err)
	}
	return nil
}

// WasReset forgets what was counted against the account, and against it at this
// place: those attempts were about a password that is no more. It knows nobody by
// that: the place is not noted.
func (g *Gate) WasReset(ctx context.Context, a Attempt) {
	g.Store.Forget(ctx, g.placeKey(a))
	g.Store.Forget(ctx, g.accountKey(a))
}

// Introspect counts a question about somebody else's token, or refuses it with a
// [*LimitedError]. Only who is known is counted, so nobody can use up what
// another has.
func (g *Gate) Introspect(ctx context.Context, caller idworker.ID) error {
	if err := g.take(ctx, "introspect", Bucket{Key: "i:" + caller.String(), Rule: g.Limits().Introspect}, nil); err != nil {
		return g.told(err)
	}
	return nil
}

// take takes one attempt, and notes that in t, if that is not nil.
func (g *Gate) take(ctx context.Context, policy string, b Bucket, t *Taken) *LimitedError {
	if b.Rule.None() {
		return nil
	}
	v := g.Store.Take(ctx, b)
	if v.Allowed {
		if t != nil {
			t.all = append(t.all, taken{b, v})
		}
		return nil
	}
	return &LimitedError{Policy: policy, Rule: b.Rule, Retry: v.Retry, Reset: v.Reset}
}

func (g *Gate) told(err *LimitedError) error {
	if g.Refused != nil {
		g.Refused(err.Policy)
	}
	return err
}

// placeKey is of one account at one place: not of the account alone, so that who
// guesses from elsewhere does not keep its owner waiting, and not of the place
// alone, so that those who share an address do not.
func (g *Gate) placeKey(a Attempt) string {
	return "p:" + g.hidden(a.Account+"\x00"+Place(a.Address))
}

func (g *Gate) accountKey(a Attempt) string { return "n:" + g.hidden(a.Account) }

func (g *Gate) deviceKey(a Attempt) string {
	return "d:" + g.hidden(a.Account+"\x00"+string(a.Device))
}

// hidden is a text as nobody can read it back who has not the key.
func (g *Gate) hidden(text string) string {
	mac := hmac.New(sha256.New, g.Key)
	mac.Write([]byte("throttle\x00" + text))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16])
}

// Place is an address as far as it tells one subscriber from another: IPv6 by
// its first 64 bits, which is what one is given (RFC 6177), IPv4 whole, in either
// writing.
func Place(a netip.Addr) string {
	a = a.Unmap().WithZone("")
	if !a.IsValid() {
		return "unknown"
	}
	if a.Is6() {
		if p, err := a.Prefix(64); err == nil {
			return strings.TrimSuffix(p.String(), "/64")
		}
	}
	return a.String()
}
