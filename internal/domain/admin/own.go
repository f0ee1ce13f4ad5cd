package admin

import (
	"context"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// OwnAccounts are the accounts as people make and change their own: with the
// event of it, in the same transaction. Set the fields once, before use.
type OwnAccounts struct {
	account.Users
	Register Register
	// Proofs notes that password and code were shown in the login by which the
	// event's actor acts, and writes the event in the same transaction. It returns
	// [account.ErrStale] unless the password is of that version.
	Proofs interface {
		Prove(ctx context.Context, version int64, e audit.Event) error
	}
	IDs audit.IDs
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
	e, err := audit.New(ctx, o.IDs, audit.From(ctx), audit.NeedsLogin, audit.PasswordChanged, target, "", nil, nil)
	if err != nil {
		return session.Session{}, err
	}
	return o.Register.ResetPassword(ctx, id, version, hash, e)
}

// Prove notes that the user has shown the password of that version, and the second
// factor if there is one, in the login by which they act in ctx.
func (o *OwnAccounts) Prove(ctx context.Context, id idworker.ID, version int64) error {
	by := audit.From(ctx)
	by.ID = id
	e, err := audit.New(ctx, o.IDs, by, audit.NeedsLogin, audit.Reauthenticated, audit.AboutLogin(by.Session, by.Name), "", nil, nil)
	if err != nil {
		return err
	}
	return o.Proofs.Prove(ctx, version, e)
}

// CreatedOwn is the event of an account that its user made, through the door in
// ctx.
func CreatedOwn(ctx context.Context, ids audit.IDs, u account.User) (audit.Event, error) {
	by := audit.From(ctx)
	by.ID, by.Name = u.ID, u.Username
	return audit.New(ctx, ids, by, audit.NeedsNothing, audit.UserCreated, userTarget(&u), "", nil, state{Role: u.Role})
}
