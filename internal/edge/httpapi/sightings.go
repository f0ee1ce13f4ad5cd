package httpapi

import (
	"errors"

	"github.com/gin-gonic/gin"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/admin"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/domain/throttle"
	"github.com/flakepass/flakepass/internal/edge/clientaddr"
)

// Sightings hear of what may come in floods and changed nothing. Note must
// neither wait nor fail, and reports whether this is the first of its kind for a
// while. *audit.Tally is one.
type Sightings interface {
	Note(s audit.Sighting) (first bool)
}

// sight notes something for the record, and logs it. The action, the reason, and
// whom it is about are those of n.
func (s *server) sight(c *gin.Context, what string, n audit.Sighting, args ...any) {
	s.event(c, what, append([]any{"reason", n.Reason}, append(args, "event", n.Action)...)...)
	s.note(c, n)
}

// glimpse is sight for what costs a stranger nothing to repeat: only the first of
// its kind is logged.
func (s *server) glimpse(c *gin.Context, what string, n audit.Sighting, args ...any) {
	if s.note(c, n) {
		s.event(c, what, append([]any{"reason", n.Reason}, append(args, "event", n.Action)...)...)
	}
}

// note says who acts in n, as far as that is known here, and from where.
func (s *server) note(c *gin.Context, n audit.Sighting) (first bool) {
	if s.Sightings == nil {
		return true
	}
	if n.By == (audit.Actor{}) {
		n.By = audit.From(c.Request.Context())
	}
	n.By.Address = clientaddr.Text(s.address(c))
	return s.Sightings.Note(n)
}

// refused tells of a login that was refused. What was typed as the name is never
// logged, not even where somebody has that name: people type their password
// there, and another's name may be one. The ID of the account that has the name
// is, so that an operator sees who is being guessed at; it tells the reader of
// the log nothing about a text that is nobody's name.
func (s *server) refused(c *gin.Context, err error) {
	action := audit.LoginFailed
	if _, ok := errors.AsType[*throttle.LimitedError](err); ok {
		action = audit.LoginThrottled
	} else if _, told := lookup(err); !told {
		action = "" // nobody could tell: that is no failure of whoever asks
	}
	n, args := about(err)
	if n.Action, n.Reason = action, reason(err); action == "" || errors.Is(err, account.ErrBusy) {
		s.event(c, "login refused", append([]any{"reason", n.Reason}, args...)...)
		return
	}
	s.sight(c, "login refused", n, args...)
}

// registrationRefused tells of a registration that was refused for what it asks for: a
// name that is taken, or what no account can have. What was typed is in neither the
// log nor the record.
func (s *server) registrationRefused(c *gin.Context, err error) {
	why := reason(err)
	if _, invalid := errors.AsType[*account.InvalidError](err); invalid {
		why = "validation_failed"
	} else if !errors.Is(err, account.ErrExists) { // nobody could tell
		s.event(c, "registration refused", "reason", why)
		return
	}
	s.glimpse(c, "registration refused", audit.Sighting{Action: audit.RegistrationRefused, Reason: why})
}

// passwordRefused tells of somebody who is logged in and has not shown the
// password, or the code beside it.
func (s *server) passwordRefused(c *gin.Context, what string, who flakepass.Identity, err error) {
	action := audit.PasswordRefused
	if _, ok := errors.AsType[*throttle.LimitedError](err); ok {
		action = audit.LoginThrottled
	}
	s.sight(c, what, audit.Sighting{
		Action: action, Reason: reason(err), Target: audit.AboutUser(session.UserOf(who), who.Username), By: actor(c, who),
		Admin: account.Role(who.Role) == account.RoleAdmin,
	}, "user_id", who.UserID)
}

// resetRefused tells of somebody who was not let set a password by a one-time
// token, whose that is and who gave it out, if anybody.
func (s *server) resetRefused(c *gin.Context, err error) {
	_, limited := errors.AsType[*throttle.LimitedError](err)
	if _, told := lookup(err); !limited && !told { // nobody could tell
		s.event(c, "password not reset", "reason", reason(err))
		return
	}
	n, args := about(err)
	n.Action, n.Reason = audit.ResetRefused, admin.RefusedReset(reason(err), err)
	s.sight(c, "password not reset", n, args...)
}

// about is whose name or token was refused with err, for the record and for the
// log; none if nobody's.
func about(err error) (n audit.Sighting, args []any) {
	if known, ok := errors.AsType[*account.RefusedError](err); ok {
		n.Target, n.Admin = audit.AboutUser(known.UserID, known.Username), known.Role == account.RoleAdmin
		args = []any{"user_id", known.UserID}
	}
	return n, args
}

// credentialRefused tells of a token that was refused, if that means something:
// one that is missing, malformed or unknown is what every stranger can send, and
// is about nobody.
func (s *server) credentialRefused(c *gin.Context, err error) {
	if r, ok := admin.Refused(err); ok {
		s.glimpse(c, r.What, r.Sighting, r.Args...)
	}
}
