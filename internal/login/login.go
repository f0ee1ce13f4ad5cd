// Package login is how a session begins and how a password changes: the
// account says who it is, the session service opens the door.
package login

import (
	"context"
	"errors"
	"fmt"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/account"
	"github.com/flakepass/flakepass/internal/session"
)

// Accounts know people and their passwords. *account.Service is one.
type Accounts interface {
	Authenticate(ctx context.Context, username string, p account.Password) (account.User, error)
	VerifyPassword(ctx context.Context, u account.User, p account.Password) error
	NewHash(ctx context.Context, username string, p account.Password) (account.PHC, error)
}

// Sessions open logins. *session.Service is one.
type Sessions interface {
	Open(ctx context.Context, user idworker.ID, passwordVersion int64) (session.Opened, error)
}

// Users hold the accounts. [Users.ChangePassword] sets a new password
// and ends the login of its user in one step.
type Users interface {
	ByID(ctx context.Context, id idworker.ID) (account.User, error)
	ChangePassword(ctx context.Context, id idworker.ID, version int64, hash account.PHC) (session.Session, error)
}

// A Hearer is told of a session that has ended.
type Hearer interface {
	Hear(ctx context.Context, ended session.Session) error
}

// A Service logs people in. Set the fields once, before use.
type Service struct {
	Accounts Accounts
	Sessions Sessions
	Users    Users
	Store    Hearer
}

// Login opens a login for the holder of that name and password. It fails with
// [account.ErrWrong], [account.ErrDisabled] or [account.ErrBusy], within an
// [*account.RefusedError] if somebody has that name.
func (s *Service) Login(ctx context.Context, username string, p account.Password) (session.Opened, error) {
	user, err := s.Accounts.Authenticate(ctx, username, p)
	if err != nil {
		return session.Opened{}, err
	}
	opened, err := s.Sessions.Open(ctx, user.ID, user.PasswordVersion)
	if gone(err) {
		err = account.ErrWrong // it was right a moment ago
	}
	if err != nil {
		return session.Opened{}, &account.RefusedError{UserID: user.ID, Err: err}
	}
	return opened, nil
}

// ChangePassword replaces the password of that user, who has to know the old
// one, and ends the login. It fails with [account.ErrWrong], or an
// [*account.InvalidError] about the new one.
//
// An error wrapping [session.ErrUntold] means: changed and ended, and effective
// everywhere within the bound.
func (s *Service) ChangePassword(ctx context.Context, id idworker.ID, current, next account.Password) error {
	user, err := s.Users.ByID(ctx, id)
	if err != nil {
		return fmt.Errorf("login: change password: %w", err)
	}
	if err := s.Accounts.VerifyPassword(ctx, user, current); err != nil {
		return err
	}
	hash, err := s.Accounts.NewHash(ctx, user.Username, next)
	if err != nil {
		return err
	}
	ended, err := s.Users.ChangePassword(ctx, id, user.PasswordVersion, hash)
	if gone(err) {
		return account.ErrWrong
	}
	if err == nil && ended.ID != 0 {
		err = s.Store.Hear(ctx, ended)
	}
	if err != nil {
		return fmt.Errorf("login: change password: %w", err)
	}
	return nil
}

// gone reports that the account is no longer as it was when the password was
// checked.
func gone(err error) bool {
	return errors.Is(err, account.ErrStale) || errors.Is(err, account.ErrNotFound)
}
