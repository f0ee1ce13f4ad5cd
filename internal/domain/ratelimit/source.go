package ratelimit

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/limit"
)

// Register counts a new account, or refuses it with a [*LimitedError]. What it has
// taken can be given back by [Limiter.Return].
func (l *Limiter) Register(ctx context.Context, from netip.Addr) (Taken, error) {
	return l.bySource(ctx, "register", "r:", from)
}

// Reset counts an attempt to set a password by the token of a reset, or refuses
// it with a [*LimitedError]. The tokens cannot be guessed: it bounds the load, by
// the rule for new accounts and a count of its own. What it has taken can be given
// back by [Limiter.Return].
func (l *Limiter) Reset(ctx context.Context, from netip.Addr) (Taken, error) {
	return l.bySource(ctx, "reset", "s:", from)
}

func (l *Limiter) bySource(ctx context.Context, name, kind string, from netip.Addr) (Taken, error) {
	var t Taken
	if err, _ := l.takeAddress(ctx, name, kind, from, l.Limits().Register, &t); err != nil {
		return Taken{}, l.report(err)
	}
	return t, nil
}

// RefuseExport is the [*LimitedError] for an export beyond [Exports], of which the record
// has as many until that time is over.
func (l *Limiter) RefuseExport(wait time.Duration) error {
	rule := Exports()
	return l.report(&LimitedError{Limit: "export", Rule: rule, Retry: wait, Reset: rule.Per})
}

// Introspect counts questions about that many tokens of others, at least one, or
// refuses all of them with a [*LimitedError]; with a [*TooManyError] if the limit
// allows fewer at once. Callers are authenticated and counted one by one, so no caller
// can use up what another has.
func (l *Limiter) Introspect(ctx context.Context, caller idworker.ID, tokens int) error {
	rule := l.Limits().Introspect
	if !rule.None() && tokens > rule.Count {
		return &TooManyError{Limit: "introspect", Most: rule.Count}
	}
	if err := l.take(ctx, "introspect", Bucket{Key: "i:" + caller.String(), Rule: rule, N: tokens}, nil); err != nil {
		return l.report(err)
	}
	return nil
}

// takeAddress counts an attempt by its place and by the networks around that, or
// takes nothing. here reports that the place itself has no more.
func (l *Limiter) takeAddress(ctx context.Context, name, kind string, from netip.Addr, r limit.Rule, t *Taken) (err *LimitedError, here bool) {
	all := around(from)
	for i, network := range all {
		if err := l.take(ctx, name, Bucket{Key: kind + network, Rule: r}, t); err != nil {
			l.giveBack(ctx, t, 0)
			return err, i == len(all)-1
		}
	}
	return nil, false
}

// takePlace counts an attempt for one name from one place by all rules for that, or
// takes nothing.
func (l *Limiter) takePlace(ctx context.Context, a Attempt, limits *limit.Limits, t *Taken) *LimitedError {
	rules, key, before := limits.LoginPlace[:limits.Place()], l.placeKey(a), len(t.all)
	for _, r := range rules {
		if err := l.take(ctx, "login-place", Bucket{Key: key, Rule: r, Beside: rules}, t); err != nil {
			l.giveBack(ctx, t, before)
			return err
		}
	}
	return nil
}

// take takes one attempt and adds it to t, unless t is nil.
func (l *Limiter) take(ctx context.Context, name string, b Bucket, t *Taken) *LimitedError {
	if b.Rule.None() {
		return nil
	}
	v := l.Store.Take(ctx, b)
	if v.Allowed {
		if t != nil {
			t.all = append(t.all, taken{b, v})
		}
		return nil
	}
	return &LimitedError{Limit: name, Rule: b.Rule, Retry: v.Retry, Reset: v.Reset}
}

func (l *Limiter) report(err *LimitedError) error {
	if l.Refused != nil {
		l.Refused(err.Limit)
	}
	return err
}

// Network is the network that an address is counted with where one party may
// have many addresses: the first 24 bits of an IPv4 address, in either writing,
// and the first 48 of an IPv6 one, which is the most that one site is given (RFC
// 6177). It is the zero Prefix if there is no address.
func Network(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := 48
	if a.Is4() {
		bits = 24
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}

// Place is an address as far as it distinguishes subscribers: IPv6 by
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

// around are the networks by which attempts from an address are counted, the
// largest first: a subscriber of IPv6 may have 56 or 48 bits, and with them any
// number of places. The last is the place.
func around(a netip.Addr) []string {
	a = a.Unmap().WithZone("")
	if !a.Is6() {
		return []string{Place(a)}
	}
	all := make([]string, 0, 3)
	for _, bits := range []int{48, 56} {
		if p, err := a.Prefix(bits); err == nil {
			all = append(all, p.String())
		}
	}
	return append(all, Place(a))
}

// arrive counts an attempt by its address, finds out whose account it is about, and looks at the
// credential of the device. A client without a credential is counted first: if its address has no
// attempts left, it is refused before the database is asked. A credential is of one account, so
// arrive can check it only when it knows the account.
func (l *Limiter) arrive(ctx context.Context, a *Attempt, limits *limit.Limits, t *Taken) (id []byte, shown bool, held *LimitedError, err error) {
	address := func() error {
		var here bool
		if held, here = l.takeAddress(ctx, "login-address", "a:", a.Address, limits.LoginAddress, t); here {
			return l.report(held) // only a credential distinguishes the owner from others at one place
		}
		return nil
	}
	if a.Credential.None() {
		err = address()
	}
	if err == nil && a.Whose != nil {
		if a.Account, a.User, err = a.Whose(ctx); err != nil {
			l.Return(ctx, *t)
			err = fmt.Errorf("ratelimit: login: %w", err)
		}
	}
	if err != nil || a.Credential.None() {
		return nil, false, held, err
	}
	if id, shown = l.deviceID(*a); !shown {
		err = address()
	}
	return id, shown, held, err
}
