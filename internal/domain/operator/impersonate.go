package operator

import (
	"context"
	"errors"
	"fmt"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// Impersonations begins sessions in which an admin acts for a user. *session.Service is one.
type Impersonations interface {
	Impersonate(ctx context.Context, a session.Act) (session.Opened, error)
}

// ErrImpersonationOff means that nobody may act for a user here.
var ErrImpersonationOff = errors.New("impersonation is off")

// Impersonate begins a session in which by acts for a user, for [session.ActLife] at most, and
// ends the one before of that user. Its token is shown once. It changes nothing of the account.
// It fails with [ErrImpersonationOff], with [audit.ErrRole] if no person acts, who could be
// named in the session; with an [*invalid.Error] about the reason, which there must be;
// and as [session.Service.Impersonate] does.
func (u *Users) Impersonate(ctx context.Context, by audit.Actor, id idworker.ID, reason string) (session.Opened, error) {
	switch {
	case u.Impersonations == nil:
		return session.Opened{}, ErrImpersonationOff
	case by.ID == 0 || by.Session == 0:
		return session.Opened{}, audit.ErrRole
	case invalid.Blank(reason):
		return session.Opened{}, invalid.Of("reason", account.CodeTooShort, "must say why: the user may ask")
	}
	if err := CheckReason(reason); err != nil {
		return session.Opened{}, err
	}
	opened, err := u.Impersonations.Impersonate(ctx, session.Act{User: id, By: by, Need: needs[impersonate], Reason: reason})
	if older, ok := errors.AsType[*policy.OlderInstanceError](err); ok {
		return session.Opened{}, &invalid.Error{Fields: []invalid.Field{{Field: "id", Code: policy.CodeOlderInstance, Message: older.Error(), Name: older.Name}}}
	}
	if err != nil {
		return session.Opened{}, fmt.Errorf("operator: %w", err)
	}
	logAct(ctx, u.Sessions.Log, by, nil, "impersonation begun", "user_id", id, "session_id", opened.Identity.SessionID, "expires_at", opened.Identity.ExpiresAt, "event", audit.ImpersonationBegan)
	return opened, nil
}
