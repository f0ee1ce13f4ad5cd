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
	"github.com/flakepass/flakepass/internal/clientaddr"
	"github.com/flakepass/flakepass/internal/session"
)

// A Gate bounds how often a password may be tried, here and through every other
// door together.
//
// Login says how long to wait before this attempt, or 0 if it may be made; then
// by is who makes it, and giveBack is for one that was no guess. LoggedIn is told that it proved to be
// right.
type Gate interface {
	Login(ctx context.Context, a Attempt) (by account.Asker, wait time.Duration, giveBack func())
	LoggedIn(ctx context.Context, a Attempt, user idworker.ID)
}

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
// the attempt may not be made yet; otherwise "".
func (v *visit) held(a Attempt) string {
	if v.u.Gate == nil {
		return ""
	}
	by, wait, giveBack := v.u.Gate.Login(v.r.Context(), a)
	if wait <= 0 {
		v.by, v.giveBack = by, giveBack
		return ""
	}
	v.w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	v.refused("rate_limited", nil)
	return fmt.Sprintf(v.t.Login.LimitedF, v.t.span(wait+time.Second-1))
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
