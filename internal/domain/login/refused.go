package login

import (
	"errors"
	"fmt"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// Errors of the proof of a user who is logged in. They differ from the refusal of a
// token, because an app throws its token away after that.
var (
	// ErrCurrent means that the current password is wrong.
	ErrCurrent = errors.New("current password is wrong")
	// ErrCurrentCode means that the code beside it is missing or wrong.
	ErrCurrentCode = errors.New("code of the second factor is wrong")
	// ErrKeepFactor means that the password is right, and too short to be the only
	// factor.
	ErrKeepFactor = errors.New("the password is too short to be the only factor")
)

// current is the refusal of a proof by a person who is logged in.
func current(err error) error {
	switch {
	case errors.Is(err, account.ErrWrong):
		return fmt.Errorf("%w: %w", ErrCurrent, err)
	case errors.Is(err, secondfactor.ErrRequired), errors.Is(err, secondfactor.ErrInvalid):
		return fmt.Errorf("%w: %w", ErrCurrentCode, err)
	case errors.Is(err, account.ErrShort):
		return fmt.Errorf("%w: %w", ErrKeepFactor, err)
	}
	return err
}

// reasons are the codes of refusals in the record, the log and the API. The first that
// an error wraps counts. failed means that the client caused it, so that it is in the
// record.
var reasons = []struct {
	err    error
	code   string
	failed bool
}{
	{ErrCurrent, "current_password_invalid", true},
	{ErrCurrentCode, "current_code_invalid", true},
	{ErrKeepFactor, "password_too_short", false},
	{account.ErrBusy, "busy", false},
	{account.ErrWrong, "credentials_invalid", true},
	{ErrRole, "not_admin", true},
	{ErrServiceLogin, "service_login_refused", true},
	{ErrIssueRole, "role_not_issuable", true},
	{account.ErrNotFound, "not_found", false},
	{session.ErrRequestReused, "idempotency_key_reused", false},
	{session.ErrRequestOver, "idempotency_key_reused", false},
	{account.ErrDisabled, "account_disabled", true},
	{account.ErrShort, "password_reset_required", true},
	{account.ErrExists, "username_taken", true},
	{account.ErrReset, "reset_token_invalid", true},
	{secondfactor.ErrRequired, "second_factor_required", true},
	{secondfactor.ErrInvalid, "second_factor_invalid", true},
	{ErrNoRoom, "session_limit", false},
	{secondfactor.ErrTicket, "ticket_over", false},
	{secondfactor.ErrOff, "second_factor_off", false},
	{ErrDeletionOff, "self_deletion_off", false},
	{secondfactor.ErrEnrolled, "second_factor_enrolled", false},
	{secondfactor.ErrNotEnrolled, "second_factor_not_enrolled", false},
}

// Reason is the code of a refusal. failed means that the client caused it: not the
// server, and not the content of the request.
func Reason(err error) (code string, failed bool) {
	if e, ok := errors.AsType[*ratelimit.LimitedError](err); ok {
		return "rate_limited: " + e.Limit, true
	}
	if _, ok := errors.AsType[*invalid.Error](err); ok {
		return "validation_failed", false
	}
	for _, r := range reasons {
		if errors.Is(err, r.err) {
			return r.code, r.failed
		}
	}
	if refusal, ok := errors.AsType[*flakepass.Refusal](err); ok {
		return refusal.Code(), false
	}
	return "unavailable", false
}

// refusal is the user and the reason of err, for the record and the log.
func refusal(c *Client, err error) (n audit.Incident, failed bool) {
	n = audit.Incident{By: c.By, Target: c.self(), Admin: c.Admin}
	n.Reason, failed = Reason(err)
	if known, ok := errors.AsType[*account.RefusedError](err); ok {
		n.Target, n.Admin = audit.AboutUser(known.UserID, known.Username), known.Role == account.RoleAdmin
		switch i := known.Issuer; {
		case i.ID != 0:
			n.Reason += ": issued by user " + i.ID.String()
		case i.Name != "":
			n.Reason += ": issued by " + i.Name + ", in a shell"
		}
	}
	return n, failed
}

// refusedOf is err about a user, who is known.
func refusedOf(u *account.User, err error) error {
	return &account.RefusedError{UserID: u.ID, Username: u.Username, Role: u.Role, Err: err}
}
