package operator

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/servicekey"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// A verb is something that an operator does.
type verb uint8

const (
	createUser verb = iota
	createPrivileged
	inviteUser
	changeRole
	disable
	enable
	setPassword
	startReset
	withdrawReset
	removeFactor
	endLogin
	endAllLogins
	setPolicy
	exportHashes
	createKey
	revokeKey
	impersonate
	deleteUser
	changeNames
	verbCount // how many there are
)

// needs is what each verb needs of the operator, however it is called. A token may be stolen, so
// a token alone is not enough for:
//   - what gives power that outlives the login: accounts with a role, the way into an account,
//     service keys, acting for a user, and a name by which other systems know an account;
//   - a change of the policy, which may loosen the limits and the times;
//   - the end of all logins, the deletion of a user, and the export of hashes.
//
// To revoke a service key or to end a login must be fast in an emergency: it needs no proof.
var needs = [verbCount]audit.Need{
	createUser:       audit.NeedsAdmin,
	createPrivileged: audit.NeedsProof,
	inviteUser:       audit.NeedsProof,
	changeRole:       audit.NeedsProof,
	disable:          audit.NeedsAdmin,
	enable:           audit.NeedsProof,
	setPassword:      audit.NeedsProof,
	startReset:       audit.NeedsProof,
	withdrawReset:    audit.NeedsAdmin,
	removeFactor:     audit.NeedsProof,
	endLogin:         audit.NeedsAdmin,
	endAllLogins:     audit.NeedsProof,
	setPolicy:        audit.NeedsProof,
	exportHashes:     audit.NeedsProof,
	createKey:        audit.NeedsProof,
	revokeKey:        audit.NeedsAdmin,
	impersonate:      audit.NeedsProof,
	deleteUser:       audit.NeedsProof,
	changeNames:      audit.NeedsProof,
}

// create is the verb that makes an account with that role.
func create(role account.Role) verb {
	if role == account.RoleUser {
		return createUser
	}
	return createPrivileged
}

// Party is a user or a thing in the record as a person names it: a number is
// an ID, anything else a name, a username in any spelling, as the record has it. ok is false
// for what is neither.
func Party(text string) (id idworker.ID, name string, ok bool) {
	if n, err := idworker.ParseID(text); err == nil {
		return n, "", true
	}
	if normal, err := account.NormalizeUsername(text); err == nil {
		return 0, normal, true
	}
	return 0, text, text != "" && len(text) <= 1024 && utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

// logAct logs what an operator did, in the same words for the API and the console. If
// the end of a login could not be published, the line says so. Without a log it does
// nothing: a command prints what it did.
func logAct(ctx context.Context, log *slog.Logger, by audit.Actor, err error, what string, args ...any) {
	if log == nil || !session.Done(err) {
		return
	}
	if err != nil {
		what, args = what+", not published", append(args, "err", err)
	}
	log.InfoContext(ctx, what, append(args, by.LogArgs()...)...) //nolint:sloglint // every caller passes a constant
}

// Forbidden is a request that the role of its sender does not allow, as the record has it, and
// what the log adds. Where an admin acts for a user, the admin tries it, and not the user; the
// store of the record knows the name.
func Forbidden(by audit.Actor, who flakepass.Identity, request string) (n audit.Incident, args []any) {
	n = audit.Incident{By: by, Action: audit.AccessForbidden, Reason: request}
	args = []any{"user_id", who.UserID, "role", who.Role}
	if who.Act != 0 {
		n.Target, n.Admin = audit.AboutUser(by.ID, by.Name), true
		n.By.ID, n.By.Name = idworker.ID(who.Act), ""
		args = append(args, "act", who.Act)
	}
	return n, args
}

// A RefusedCredential is a token that was refused, as the record and the log have it.
type RefusedCredential struct {
	audit.Incident
	What string // it is called in the log
	Args []any  // whose it was, for the log; none if that is not known
}

// Refused is what err, of a [flakepass.Verifier], says of a credential. ok is false if
// there is nothing to report: a credential that is missing, malformed or unknown can
// come from any client and belongs to no user, and one that could not be decided is
// not refused.
func Refused(err error) (r RefusedCredential, ok bool) {
	known, found := errors.AsType[*session.RefusedError](err)
	if found {
		r.Target, r.Admin = audit.AboutLogin(known.ID, known.Username), account.Role(known.Role) == account.RoleAdmin
		r.Args = []any{"user_id", known.UserID.String(), "session_id", known.ID.String()}
	}
	key, isKey := errors.AsType[*servicekey.RefusedError](err)
	if isKey {
		r.Target = audit.AboutUser(key.UserID, key.Username)
		r.Args = []any{"user_id", key.UserID.String(), "key_id", key.ID.String()}
	}
	if errors.Is(err, flakepass.ErrAmbiguous) {
		r.Action, r.What, r.Reason = audit.AccessAmbiguous, "two credentials in one request", "credentials_ambiguous"
	} else if refusal, refused := errors.AsType[*flakepass.Refusal](err); refused {
		r.Reason = refusal.Code()
		r.Action, r.What = audit.Refused(r.Reason, found && known.Forged)
		if isKey {
			r.Action, r.What = audit.RefusedKey(r.Reason, key.Forged)
		}
	}
	return r, r.Action != ""
}
