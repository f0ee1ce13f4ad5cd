package operator

import (
	"context"
	"fmt"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// A LoginBook begins and ends logins as [session.Book] does, and writes the
// event in the same transaction.
type LoginBook interface {
	BeginRecorded(ctx context.Context, o session.Opening, event func(session.Begun) (audit.Event, error)) (session.Begun, error)
	EndRecorded(ctx context.Context, e session.Ending, event func(session.Session) (audit.Event, error)) (session.Session, error)
}

// OwnLogins are logins as people begin and end their own: a [session.Book] that
// puts each on record, or does nothing. Set the fields once, before use.
type OwnLogins struct {
	Book   LoginBook
	IDs    audit.IDs
	Policy interface{ Current() *policy.Policy }
	Now    func() time.Time
}

var _ session.Book = (*OwnLogins)(nil)

// endedLogin is the login that a new one has ended, in the record.
type endedLogin struct {
	Session idworker.ID    `json:"session_id"`
	Reason  session.Reason `json:"reason"`
}

// Begin begins a login. Its event has the number of the login, which is as new
// and as unique as any: nothing has to be minted for it, and nobody waits for
// that while the row is locked. A login that ends for the new one is in the same
// event, with what the policy says of it.
func (o *OwnLogins) Begin(ctx context.Context, open session.Opening) (session.Begun, error) {
	by := audit.From(ctx)
	return o.Book.BeginRecorded(ctx, open, func(b session.Begun) (audit.Event, error) {
		by.ID, by.Name = b.Session.UserID, b.Session.Username
		var before any
		if was := session.OverBefore(b.Replaced, o.Policy.Current(), o.Now()); was.ID != 0 {
			before = endedLogin{was.ID, was.Ended}
		}
		return audit.New(ctx, given(b.Session.ID), by, audit.NeedsNothing, audit.LoginBegan, audit.AboutLogin(b.Session.ID, b.Session.Username), "", before, nil)
	})
}

// End ends a login for its holder. Nothing is on record of one that was over
// before; one that had expired or gone idle, and that no sweep has cleared, is on
// record as that.
func (o *OwnLogins) End(ctx context.Context, e session.Ending) (session.Session, error) {
	id, err := o.IDs.Next(ctx) // before any row is locked: minting may wait
	if err != nil {
		return session.Session{}, fmt.Errorf("operator: end: %w", err)
	}
	by := audit.From(ctx)
	return o.Book.EndRecorded(ctx, e, func(now session.Session) (audit.Event, error) {
		by.ID, by.Name = now.UserID, now.Username
		action, after := audit.LoginLoggedOut, any(nil)
		if was := session.OverBefore(now, o.Policy.Current(), o.Now()); was.Before {
			action, after = audit.LoginExpired, endedLogin{was.ID, was.Ended}
		}
		return audit.New(ctx, given(id), by, audit.NeedsNothing, action, audit.AboutLogin(now.ID, now.Username), "", nil, after)
	})
}

// given is an ID that is there already.
type given idworker.ID

// Next returns it.
func (g given) Next(context.Context) (idworker.ID, error) { return idworker.ID(g), nil }
