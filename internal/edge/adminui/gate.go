package adminui

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/domain/throttle"
	"github.com/flakepass/flakepass/internal/edge/clientaddr"
)

// A Gate bounds how often a password may be tried, here and in the API together.
// *throttle.Gate is one.
//
// Login fails with a [*throttle.LimitedError]; with any other error the attempt
// could not be counted, and is not made. Return gives back what it has taken for
// one that was no guess. LoggedIn is told that it proved to be right.
type Gate interface {
	Login(ctx context.Context, a throttle.Attempt) (throttle.Taken, error)
	LoggedIn(ctx context.Context, t throttle.Taken, user idworker.ID)
	Return(ctx context.Context, t throttle.Taken)
	NewDevice(a throttle.Attempt) throttle.DeviceCredential
}

// A Held is an attempt that may not be made yet. The zero Held is one that may.
type Held struct {
	For   time.Duration // until it may be made
	Limit string        // the name of the limit that was reached
}

// HeldBy is an attempt that a limit refuses.
func HeldBy(e *throttle.LimitedError) Held {
	return Held{For: max(e.Retry, time.Second), Limit: e.Policy}
}

// reason is what the record calls it.
func (h Held) reason() string {
	return "rate_limited: " + h.Limit
}

// attempt is one to be the holder of that name.
func (v *visit) attempt(name string) throttle.Attempt {
	a := throttle.Attempt{Account: name}
	if normal, err := account.NormalizeUsername(name); err == nil {
		a.Account = normal // all spellings of one name count together
	}
	a.Address, _ = clientaddr.Of(v.r, v.u.TrustedProxies) // all who have none count together
	if t, err := carried(v.r); err == nil {
		hash := session.HashOf(t)
		a.Device = hash[:]
	}
	a.Credential = carriedDevice(v.r)
	return a
}

// held counts an attempt. If it may not be made it returns a status and a sentence,
// and sets what goes with them (RFC 6585 section 4); otherwise 0. what is the line
// of the log. n is whose attempt it is, if that is known, and args say so in the log.
func (v *visit) held(a throttle.Attempt, what string, n audit.Sighting, args ...any) (status int, problem string) {
	if v.u.Gate == nil {
		return 0, ""
	}
	taken, err := v.u.Gate.Login(v.r.Context(), a)
	if limited, ok := errors.AsType[*throttle.LimitedError](err); ok {
		h := HeldBy(limited)
		n.Action, n.Reason = audit.LoginThrottled, h.reason()
		v.sight(what, n, args...)
		return http.StatusTooManyRequests, v.limited(h)
	}
	if err != nil {
		if v.r.Context().Err() == nil {
			v.u.Log.ErrorContext(v.r.Context(), "console: attempt not counted", "err", err)
		}
		v.w.Header().Set("Retry-After", retryAfter)
		return http.StatusServiceUnavailable, v.t.Text("login.failed")
	}
	v.by, v.taken = account.Asker{Network: throttle.Network(a.Address), Known: taken.Known}, &taken
	return 0, ""
}

// heldInside is held for whoever is inside.
func (v *visit) heldInside(a throttle.Attempt, what string) (status int, problem string) {
	n, args := v.self(audit.LoginThrottled, "")
	return v.held(a, what, n, args...)
}

// limited is the sentence about a limit. It sets what goes with 429.
func (v *visit) limited(h Held) string {
	v.w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(h.For.Seconds()))))
	return v.t.Text("login.limited", v.t.span(h.For+time.Second-1))
}

// unguessed gives back what the attempt before has taken, if err says that nobody
// learnt anything of a password by it.
func (v *visit) unguessed(err error) {
	if v.taken != nil && errors.Is(err, account.ErrUndecided) {
		v.u.Gate.Return(v.r.Context(), *v.taken)
		v.taken = nil
	}
}

// proved tells that the attempt before was right.
func (v *visit) proved(user idworker.ID) {
	if v.taken != nil {
		v.u.Gate.LoggedIn(v.r.Context(), *v.taken, user)
	}
}
