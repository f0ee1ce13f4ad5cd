package admin

import (
	"context"
	"time"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// A ResetUser finds the reset of a token and who started it, and spends it. UseReset
// sets the password, ends the login, spends the reset and writes the event, all or
// nothing; ByReset and it fail with [account.ErrReset] unless the reset can be
// used at that time, and UseReset with [account.ErrDisabled].
type ResetUser interface {
	ByReset(ctx context.Context, hash account.ResetHash, now time.Time) (account.User, account.Issuer, error)
	UseReset(ctx context.Context, r account.Reset, version int64, hash account.PHC, now time.Time, e audit.Event) (session.Session, error)
}

// OwnResets are the started resets as those use them who have their tokens: with
// the event of it. Set the fields once, before use.
type OwnResets struct {
	ResetUser
	IDs audit.IDs
}

// UseReset sets the password of u and ends the login, if the reset of that hash
// can be used at that time and the password of u is what it was. Who acts is u,
// through the door in ctx; the record says who started the reset.
func (o *OwnResets) UseReset(ctx context.Context, reset account.ResetHash, u account.User, issuer account.Issuer, hash account.PHC, now time.Time) (session.Session, error) {
	by := audit.From(ctx)
	by.ID, by.Name = u.ID, u.Username
	e, err := audit.New(ctx, o.IDs, by, audit.NeedsNothing, audit.ResetUsed, userTarget(&u), "", nil, issueOf(issuer))
	if err != nil {
		return session.Session{}, err
	}
	return o.ResetUser.UseReset(ctx, account.Reset{UserID: u.ID, Hash: reset}, u.PasswordVersion, hash, now, e)
}
