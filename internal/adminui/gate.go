package adminui

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/account"
	"github.com/flakepass/flakepass/internal/audit"
	"github.com/flakepass/flakepass/internal/clientaddr"
	"github.com/flakepass/flakepass/internal/session"
)

// A Gate bounds how often a password may be tried, here and through every other
// door together.
//
// Login says how long to wait before this attempt, if it may not be made yet;
// otherwise by is who makes it, and giveBack is for one that was no guess. LoggedIn
// is told that it proved to be right.
type Gate interface {
	Login(ctx context.Context, a Attempt) (by account.Asker, held Held, giveBack func())
	LoggedIn(ctx context.Context, a Attempt, user idworker.ID)
}

// A Held is an attempt that may not be made yet. The zero Held is one that may.
type Held struct {
	For   time.Duration // until it may be made
	Limit string        // the name of the limit that was reached
}

// reason is what the record calls it.
func (h Held) reason() string { return "rate_limited: " + h.Limit }

// An Attempt is who wants to prove to be the holder of a name. Device is the
// hash of a token that the browser has brought along, or nil.
type Attempt struct {
	Account string
	Address netip.Addr
	Device  []byte
}

// attempt is one to be the holder of that name.
func (v *visit) attempt(name string) Attempt {
	a := Attempt{Account: name}
	if normal, err := account.NormalizeUsername(name); err == nil {
		a.Account = normal // all spellings of one name count together
	}
	a.Address, _ = clientaddr.Of(v.r, v.u.TrustedProxies) // all who have none count together
	if t, err := carried(v.r); err == nil {
		hash := session.HashOf(t)
		a.Device = hash[:]
	}
	return a
}

// held returns a sentence, and sets what goes with 429 (RFC 6585 section 4), if
// the attempt may not be made yet; otherwise "". what is the line of the log. n is
// whose attempt it is, if that is known, and args say so in the log.
func (v *visit) held(a Attempt, what string, n audit.Sighting, args ...any) string {
	if v.u.Gate == nil {
		return ""
	}
	by, held, giveBack := v.u.Gate.Login(v.r.Context(), a)
	if held.For <= 0 {
		v.by, v.giveBack = by, giveBack
		return ""
	}
	n.Action, n.Reason = audit.LoginThrottled, held.reason()
	v.sight(what, n, args...)
	return v.limited(held)
}

// heldInside is held for whoever is inside.
func (v *visit) heldInside(a Attempt, what string) string {
	n, args := v.self(audit.LoginThrottled, "")
	return v.held(a, what, n, args...)
}

// limited is the sentence about a limit. It sets what goes with 429.
func (v *visit) limited(h Held) string {
	v.w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(h.For.Seconds()))))
	return fmt.Sprintf(v.t.Login.LimitedF, v.t.span(h.For+time.Second-1))
}

// unguessed gives back what the attempt before has taken, if err says that nobody
// learnt anything of a password by it.
func (v *visit) unguessed(err error) {
	if v.giveBack != nil && errors.Is(err, account.ErrUndecided) {
		v.giveBack()
	}
	v.giveBack = nil
}

func (v *visit) proved(a Attempt, user idworker.ID) {
	if v.u.Gate != nil {
		v.u.Gate.LoggedIn(v.r.Context(), a, user)
	}
}
