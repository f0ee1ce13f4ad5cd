package admin

import (
	"context"
	"fmt"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// RevokedReason is the reason of an end, in the record, that whoever had the token
// asked for.
const RevokedReason = "the token was revoked"

// A RecordedBook ends a login as [session.Book] does, and writes the event, made from
// the login as it was, in the same transaction, unless the login was over before.
type RecordedBook interface {
	EndRecorded(ctx context.Context, e session.Ending, event func(session.Session) (audit.Event, error)) (session.Session, error)
}

// Revocations end the login of a token that another service was shown. Set the
// fields once, before use.
type Revocations struct {
	Sessions *session.Service
	Book     RecordedBook
	IDs      audit.IDs
}

// Revoke ends the login that t opens, as [session.Service.Close] does and with
// the same errors, and records it as the act of whoever acts in ctx. Its owner
// is told that the login was revoked.
func (r *Revocations) Revoke(ctx context.Context, t flakepass.Token) (session.Session, error) {
	event, err := audit.New(ctx, r.IDs, audit.From(ctx), audit.NeedsService, audit.LoginEnded, audit.Target{Kind: "login", ID: session.IDOf(t)}, RevokedReason, nil, nil)
	if err != nil {
		return session.Session{}, fmt.Errorf("admin: revoke: %w", err)
	}
	return r.Sessions.CloseAs(ctx, t, session.Revoked, func(ctx context.Context, e session.Ending) (session.Session, error) {
		return r.Book.EndRecorded(ctx, e, func(now session.Session) (audit.Event, error) {
			event.Target.Name = now.Username
			return event, nil
		})
	})
}
