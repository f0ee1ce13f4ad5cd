package operator

import (
	"errors"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// A RefusedCredential is a token that was refused, as the record and the log have
// it, whichever door it came to.
type RefusedCredential struct {
	audit.Sighting
	What string // it is called in the log
	Args []any  // whose it was, for the log; none if nobody knows
}

// Refused is what err, of a [flakepass.Verifier], says of a credential; ok is false
// for what means nothing: one that is missing, malformed or unknown is what every
// stranger can send, and is about nobody, and one that could not be decided is not
// refused.
func Refused(err error) (r RefusedCredential, ok bool) {
	known, found := errors.AsType[*session.RefusedError](err)
	if found {
		r.Target, r.Admin = audit.AboutLogin(known.ID, known.Username), account.Role(known.Role) == account.RoleAdmin
		r.Args = []any{"user_id", known.UserID.String(), "session_id", known.ID.String()}
	}
	if errors.Is(err, flakepass.ErrAmbiguous) {
		r.Action, r.What, r.Reason = audit.AccessAmbiguous, "two credentials in one request", "credentials_ambiguous"
	} else if refusal, refused := errors.AsType[*flakepass.Refusal](err); refused {
		r.Reason = refusal.Code()
		r.Action, r.What = audit.Refused(r.Reason, found && known.Forged)
	}
	return r, r.Action != ""
}
