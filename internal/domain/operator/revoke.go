package operator

import (
	"context"
	"fmt"
	"log/slog"

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
	Log      *slog.Logger // nil logs nothing
}

// Revoke ends the login that t opens, as [session.Service.Close] does and with
// the same errors, and records it as the act of by. Its owner
// is told that the login was revoked.
func (r *Revocations) Revoke(ctx context.Context, by audit.Actor, t flakepass.Token) (session.Session, error) {
	event, err := audit.New(ctx, r.IDs, by, audit.NeedsService, audit.LoginEnded, audit.Target{Kind: "login", ID: session.IDOf(t)}, RevokedReason, nil, nil)
	if err != nil {
		return session.Session{}, fmt.Errorf("operator: revoke: %w", err)
	}
	ended, err := r.Sessions.CloseAs(ctx, t, session.Revoked, func(ctx context.Context, e session.Ending) (session.Session, error) {
		return r.Book.EndRecorded(ctx, e, func(now session.Session) (audit.Event, error) {
			event.Target.Name = now.Username
			return event, nil
		})
	})
	about := []any{"user_id", ended.UserID, "session_id", ended.ID}
	switch {
	case ended.ID == 0: // the ID is only what a stranger claims
	case ended.Before && err == nil:
		acted(ctx, r.Log, by, nil, "revocation of a login that was over", append(about, "reason", ended.Ended)...)
	default:
		acted(ctx, r.Log, by, err, "revoked", about...)
	}
	return ended, err
}
