package adminui

import (
	"errors"
	"net/http"

	"github.com/flakepass/flakepass/internal/account"
	"github.com/flakepass/flakepass/internal/admin"
	"github.com/flakepass/flakepass/internal/audit"
	"github.com/flakepass/flakepass/internal/secondfactor"
)

// Sightings hear of what may come in floods and changed nothing. Note must
// neither wait nor fail, and reports whether this is the first of its kind for a
// while. *audit.Tally is one.
type Sightings interface {
	Note(s audit.Sighting) (first bool)
}

// named is next, with the name of each request in its context: whatever logs on
// its behalf says so.
func named(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		by := audit.By{Via: audit.ViaConsole, RequestID: w.Header().Get(requestIDHeader)}
		next.ServeHTTP(w, r.WithContext(audit.NewContext(r.Context(), by)))
	})
}

// sight notes something for the record, and logs it.
func (v *visit) sight(what string, action audit.Action, reason string, target audit.Target, args ...any) {
	v.note(action, reason, target)
	v.logSight(what, action, reason, args)
}

// glimpse is sight for what costs a stranger nothing to repeat: only the first of
// its kind is logged.
func (v *visit) glimpse(what string, action audit.Action, reason string, target audit.Target, args ...any) {
	if v.note(action, reason, target) {
		v.logSight(what, action, reason, args)
	}
}

func (v *visit) logSight(what string, action audit.Action, reason string, args []any) {
	args = append([]any{"reason", reason, "via", "console", "from", v.u.address(v.r), "request_id", v.w.Header().Get(requestIDHeader)}, args...)
	v.u.Log.InfoContext(v.r.Context(), what, append(args, "event", string(action))...) //nolint:sloglint // every caller passes a constant
}

func (v *visit) note(action audit.Action, reason string, target audit.Target) (first bool) {
	if v.u.Sightings == nil {
		return true
	}
	n := audit.SightingBy(v.r.Context(), action, reason, target)
	n.By.Address = v.u.address(v.r)
	return v.u.Sightings.Note(n)
}

// refused tells of a login that was refused, and whose name it was, if anybody's.
// What was typed as the name is not told: people type their password there.
func (v *visit) refused(reason string, err error) {
	action := audit.LoginFailed
	if reason == "rate_limited" {
		action = audit.LoginThrottled
	}
	if known, ok := errors.AsType[*account.RefusedError](err); ok {
		v.sight("login refused", action, reason, audit.AboutUser(known.UserID, known.Username), "user_id", known.UserID.String())
		return
	}
	v.sight("login refused", action, reason, audit.Target{})
}

// unproved tells of somebody inside who has not shown the password or the code,
// if err is that.
func (v *visit) unproved(what string, err error) {
	reason := ""
	switch {
	case errors.Is(err, account.ErrWrong), errors.Is(err, account.ErrDisabled):
		reason = "password_not_confirmed"
	case errors.Is(err, secondfactor.ErrRequired), errors.Is(err, secondfactor.ErrInvalid):
		reason = "current_code_invalid"
	default:
		return
	}
	v.sight(what, audit.PasswordRefused, reason, audit.AboutUser(v.who.UserID, v.who.Username), "user_id", v.who.UserID.String())
}

// credentialRefused tells of a cookie that was refused, if that means something:
// one that is missing, malformed or unknown is what every stranger can send.
func (v *visit) credentialRefused(err error) {
	if r, ok := admin.Refused(err); ok {
		v.glimpse(r.What, r.Action, r.Reason, r.Target, r.Args...)
	}
}
