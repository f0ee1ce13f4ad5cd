package admin

import (
	"context"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/account"
	"github.com/flakepass/flakepass/internal/audit"
	"github.com/flakepass/flakepass/internal/session"
)

// OwnAccounts are the accounts as people make and change their own: with the
// event of it, in the same transaction. Set the fields once, before use.
type OwnAccounts struct {
	account.Users
	Register Register
	IDs      audit.IDs
}

// Create adds a user who made the account, or returns [account.ErrExists].
func (o *OwnAccounts) Create(ctx context.Context, u account.User) error {
	e, err := CreatedOwn(ctx, o.IDs, u)
	if err != nil {
		return err
	}
	return o.Register.CreateRecorded(ctx, u, e)
}

// ChangePassword sets the hash of a new password and ends the login, if the
// password is still of that version; otherwise it returns [account.ErrStale] and
// changes nothing. Who acts in ctx is the user.
func (o *OwnAccounts) ChangePassword(ctx context.Context, id idworker.ID, version int64, hash account.PHC) (session.Session, error) {
	target := audit.Target{Kind: "user", ID: id, Name: audit.From(ctx).Name}
	e, err := audit.New(ctx, o.IDs, audit.PasswordChanged, target, "", nil, nil)
	if err != nil {
		return session.Session{}, err
	}
	return o.Register.ResetPassword(ctx, id, version, hash, e)
}

// CreatedOwn is the event of an account that its user made, through the door in
// ctx.
func CreatedOwn(ctx context.Context, ids audit.IDs, u account.User) (audit.Event, error) {
	by := audit.From(ctx)
	by.ID, by.Name = u.ID, u.Username
	return audit.New(audit.NewContext(ctx, by), ids, audit.UserCreated, userTarget(&u), "", nil, state{Role: u.Role})
}
