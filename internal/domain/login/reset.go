package login

import (
	"context"
	"fmt"
	"time"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// ResetUsers find the user of a started reset, and set a password by it.
//
// ByReset returns also who started the reset. It fails with [account.ErrReset] if
// there is none of that hash that can be used at that time, in an
// [*account.RefusedError] if there is one that cannot. UseReset sets the password, ends the login and
// spends the reset, all or nothing; of several with one reset it does so for one.
// It fails with [account.ErrReset] or [account.ErrDisabled].
type ResetUsers interface {
	ByReset(ctx context.Context, hash account.ResetHash, now time.Time) (account.User, account.Issuer, error)
	UseReset(ctx context.Context, reset account.ResetHash, u account.User, issuer account.Issuer, hash account.PHC, now time.Time) (session.Session, error)
}

// Resets set the passwords of those who were given a token to do so. Set the
// fields once, before use.
type Resets struct {
	Accounts Accounts
	Users    ResetUsers
	Store    Hearer
	Now      func() time.Time
}

// Use sets the password of the user for whom the reset was started, and ends the
// login; nobody is logged in by it. It returns that user. It fails with
// [account.ErrReset] for a token that nobody can use, or no longer;
// [account.ErrDisabled] for one that works once the account is enabled; an
// [*account.InvalidError] about the password, and [account.ErrBusy]. After each of
// these nothing has changed, and a token that was good is. Where the token was that
// of a user, an [*account.RefusedError] says whose and who started it, for the record.
//
// An error wrapping [session.ErrUntold] means: set and ended, and effective
// everywhere within the bound.
func (r *Resets) Use(ctx context.Context, by account.Asker, t account.ResetToken, p account.Password) (account.User, error) {
	// The token first: who has none is not told whose name a password contains, and
	// costs no hash.
	user, issuer, err := r.Users.ByReset(ctx, t.Hash(), r.Now())
	if err != nil {
		return account.User{}, fmt.Errorf("login: reset: %w", err)
	}
	about := func(err error) error {
		return &account.RefusedError{UserID: user.ID, Username: user.Username, Role: user.Role, Issuer: issuer, Err: err}
	}
	if user.Disabled() {
		return account.User{}, about(account.ErrDisabled)
	}
	by.Known = true // nobody guesses such a token
	hash, err := r.Accounts.NewHash(ctx, by, user.Username, p)
	if err != nil {
		return account.User{}, err
	}
	ended, err := r.Users.UseReset(ctx, t.Hash(), user, issuer, hash, r.Now())
	if err != nil {
		return account.User{}, fmt.Errorf("login: reset: %w", about(err))
	}
	if ended.ID != 0 {
		if err := r.Store.Hear(ctx, ended); err != nil {
			return user, fmt.Errorf("login: reset: %w", err)
		}
	}
	return user, nil
}
