package adminui

import (
	"errors"
	"net/http"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/admin"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/domain/session"
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
		by := audit.Actor{Via: audit.ViaConsole, RequestID: w.Header().Get(requestIDHeader)}
		next.ServeHTTP(w, r.WithContext(audit.NewContext(r.Context(), by)))
	})
}

// sight notes something for the record, and logs it. The action, the reason, and
// whom it is about are those of n.
func (v *visit) sight(what string, n audit.Sighting, args ...any) {
	v.note(n)
	v.logSight(what, n, args)
}

// glimpse is sight for what costs a stranger nothing to repeat: only the first of
// its kind is logged.
func (v *visit) glimpse(what string, n audit.Sighting, args ...any) {
	if v.note(n) {
		v.logSight(what, n, args)
	}
}

func (v *visit) logSight(what string, n audit.Sighting, args []any) {
	v.log(what, append(append([]any{"reason", n.Reason}, args...), "event", string(n.Action))...)
}

// log is one line about the security of an account.
func (v *visit) log(what string, args ...any) {
	args = append(args, "via", "console", "from", v.u.address(v.r), "request_id", v.w.Header().Get(requestIDHeader))
	v.u.Log.InfoContext(v.r.Context(), what, args...) //nolint:sloglint // every caller passes a constant
}

// note says who acts in n, as far as that is known here, and from where.
func (v *visit) note(n audit.Sighting) (first bool) {
	if v.u.Sightings == nil {
		return true
	}
	n.By = audit.From(v.r.Context())
	n.By.Address = v.u.address(v.r)
	return v.u.Sightings.Note(n)
}

// refused tells of a login that was refused, and whose name it was, if anybody's.
// What was typed as the name is not told: people type their password there.
func (v *visit) refused(reason string, err error) {
	n, args := about(err)
	n.Action, n.Reason = audit.LoginFailed, reason
	v.sight("login refused", n, args...)
}

// undecided logs a login, or another proof, that was refused for a reason that is
// not of those who tried: the record counts no failure of theirs.
func (v *visit) undecided(what, reason string, err error) {
	_, args := about(err)
	v.log(what, append([]any{"reason", reason}, args...)...)
}

// about is whose name or token was refused with err, for the record and for the
// log; none if nobody's.
func about(err error) (n audit.Sighting, args []any) {
	if known, ok := errors.AsType[*account.RefusedError](err); ok {
		n.Target, n.Admin = audit.AboutUser(known.UserID, known.Username), known.Role == account.RoleAdmin
		args = []any{"user_id", known.UserID.String()}
	}
	return n, args
}

// self is something about whoever is inside, who is an admin.
func (v *visit) self(action audit.Action, reason string) (n audit.Sighting, args []any) {
	return audit.Sighting{
		Action: action, Reason: reason, Target: audit.AboutUser(session.UserOf(v.who), v.who.Username), Admin: true,
	}, []any{"user_id", v.who.UserID.String()}
}

// unproved tells of somebody inside who has not shown the password or the code,
// if err is that.
func (v *visit) unproved(what string, err error) {
	reason := ""
	switch {
	case errors.Is(err, account.ErrWrong), errors.Is(err, account.ErrDisabled):
		reason = "current_password_invalid"
	case errors.Is(err, secondfactor.ErrRequired), errors.Is(err, secondfactor.ErrInvalid):
		reason = "current_code_invalid"
	default:
		return
	}
	n, args := v.self(audit.PasswordRefused, reason)
	v.sight(what, n, args...)
}

// credentialRefused tells of a cookie that was refused, if that means something:
// one that is missing, malformed or unknown is what every stranger can send.
func (v *visit) credentialRefused(err error) {
	if r, ok := admin.Refused(err); ok {
		v.glimpse(r.What, r.Sighting, r.Args...)
	}
}
