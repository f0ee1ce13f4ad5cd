// Package login is how a session begins and how a password changes: the
// account says who it is, the second factor that it is they, and the session
// service opens the door.
package login

import (
	"context"
	"errors"
	"fmt"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// Accounts know people and their passwords. *account.Service is one.
type Accounts interface {
	Authenticate(ctx context.Context, by account.Asker, username string, p account.Password) (account.User, error)
	VerifyPassword(ctx context.Context, by account.Asker, u account.User, p account.Password) error
	NewHash(ctx context.Context, by account.Asker, username string, p account.Password) (account.PHC, error)
	// NewHashBeside is for a password beside which there is a second factor.
	NewHashBeside(ctx context.Context, by account.Asker, username string, p account.Password) (account.PHC, error)
}

// Sessions open logins. *session.Service is one.
type Sessions interface {
	Open(ctx context.Context, user idworker.ID, passwordVersion int64) (session.Opened, error)
}

// Users hold the accounts. [Users.ChangePassword] sets a new password
// and ends the login of its user in one step. [Users.Prove] notes that the password
// of that version, and the second factor, were shown in the login of who acts in
// ctx. Both fail with [account.ErrStale] if the version is another by now.
type Users interface {
	ByID(ctx context.Context, id idworker.ID) (account.User, error)
	ChangePassword(ctx context.Context, id idworker.ID, version int64, hash account.PHC) (session.Session, error)
	Prove(ctx context.Context, id idworker.ID, version int64) error
}

// A Hearer is told of a session that has ended.
type Hearer interface {
	Hear(ctx context.Context, ended session.Session) error
}

// ErrRole means that the password is right, and that the account has another
// role than the door is for. No login was begun, and none was ended.
var ErrRole = errors.New("the account has another role")

// A Service logs people in. Set the fields once, before use.
type Service struct {
	Accounts Accounts
	Sessions Sessions
	Users    Users
	Store    Hearer
	Factors  Factors // nil: whoever has a second factor cannot log in
}

// Login opens a login for the holder of that name and password, and of the second
// factor if there is one; code may be empty. It fails with [account.ErrWrong],
// [account.ErrDisabled] or [account.ErrBusy], and, if the password is right, with
// [secondfactor.ErrRequired], [secondfactor.ErrInvalid] or [account.ErrShort];
// within an [*account.RefusedError] if somebody has that name. An error after which the
// attempt is no guess is [account.ErrUndecided] as well.
func (s *Service) Login(ctx context.Context, by account.Asker, username string, p account.Password, code secondfactor.Code) (session.Opened, error) {
	return s.login(ctx, by, username, p, code, func(account.Role) bool { return true })
}

// LoginAs is [Service.Login] for a door that only one role may pass. It fails
// with [ErrRole] as well: before a login begins, for that would end the one
// which the person has elsewhere. Instead of [secondfactor.ErrRequired] it fails
// with a [*NeedsCodeError], which wraps that.
func (s *Service) LoginAs(ctx context.Context, by account.Asker, role account.Role, username string, p account.Password, code secondfactor.Code) (session.Opened, error) {
	return s.login(ctx, by, username, p, code, func(r account.Role) bool { return r == role })
}

func (s *Service) login(ctx context.Context, by account.Asker, username string, p account.Password, code secondfactor.Code, may func(account.Role) bool) (session.Opened, error) {
	user, err := s.Accounts.Authenticate(ctx, by, username, p)
	if err != nil {
		return session.Opened{}, err
	}
	if err := s.second(ctx, &user, p, code); err != nil {
		return session.Opened{}, &account.RefusedError{UserID: user.ID, Username: user.Username, Role: user.Role, Err: err}
	}
	return s.open(ctx, &user, may)
}

// open begins the login of a user who has shown all that is asked.
func (s *Service) open(ctx context.Context, user *account.User, may func(account.Role) bool) (session.Opened, error) {
	if !may(user.Role) {
		return session.Opened{}, &account.RefusedError{UserID: user.ID, Username: user.Username, Role: user.Role, Err: ErrRole}
	}
	opened, err := s.Sessions.Open(ctx, user.ID, user.PasswordVersion)
	if gone(err) {
		err = account.ErrWrong // it was right a moment ago
	}
	switch {
	case errors.Is(err, account.ErrWrong):
		return session.Opened{}, &account.RefusedError{UserID: user.ID, Username: user.Username, Role: user.Role, Err: err}
	case err != nil: // and the password was right
		return session.Opened{}, &account.RefusedError{UserID: user.ID, Err: account.Undecided(err)}
	}
	return opened, nil
}

// Reauthenticate checks the password of somebody who is logged in once more, and
// the second factor if there is one, and notes it in their login: for a while it
// may do what a token alone is not enough for. It fails with [account.ErrWrong], [account.ErrDisabled], [account.ErrBusy],
// [secondfactor.ErrRequired] or [secondfactor.ErrInvalid]; what is no guess is
// [account.ErrUndecided] as well, as in [Service.Login].
func (s *Service) Reauthenticate(ctx context.Context, by account.Asker, id idworker.ID, p account.Password, code secondfactor.Code) error {
	user, err := s.Users.ByID(ctx, id)
	if err != nil {
		return fmt.Errorf("login: reauthenticate: %w", account.Undecided(err))
	}
	if err := s.Accounts.VerifyPassword(ctx, loggedIn(by), user, p); err != nil {
		return err
	}
	if err := s.code(ctx, &user, code); err != nil {
		return err
	}
	err = s.Users.Prove(ctx, id, user.PasswordVersion)
	switch {
	case gone(err):
		return account.ErrWrong // it was right a moment ago
	case err != nil: // and the password was right
		return fmt.Errorf("login: reauthenticate: %w", account.Undecided(err))
	}
	return nil
}

// ChangePassword replaces the password of that user, who has to know the old
// one, and to show the second factor if there is one, and ends the login. It fails
// with [account.ErrWrong], [secondfactor.ErrRequired], [secondfactor.ErrInvalid],
// or an [*account.InvalidError] about the new one, which is looked at before the
// code, so that a correction does not need another; that error wraps
// [secondfactor.ErrUnchecked] as well. What is no guess of the old one is
// [account.ErrUndecided] as well.
//
// An error wrapping [session.ErrUntold] means: changed and ended, and effective
// everywhere within the bound.
func (s *Service) ChangePassword(ctx context.Context, by account.Asker, id idworker.ID, current, next account.Password, code secondfactor.Code) error {
	user, err := s.Users.ByID(ctx, id)
	if err != nil {
		return fmt.Errorf("login: change password: %w", account.Undecided(err))
	}
	by = loggedIn(by)
	if err := s.Accounts.VerifyPassword(ctx, by, user, current); err != nil {
		return err
	}
	// From here on the current password was right, and no error is about a guess.
	newHash := s.Accounts.NewHash
	if user.HasSecondFactor() {
		newHash = s.Accounts.NewHashBeside
	}
	hash, err := newHash(ctx, by, user.Username, next)
	if err != nil && user.HasSecondFactor() {
		return fmt.Errorf("%w: %w", err, secondfactor.ErrUnchecked)
	}
	if err != nil {
		return account.Undecided(err)
	}
	if err := s.code(ctx, &user, code); err != nil {
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
		return fmt.Errorf("login: change password: %w", account.Undecided(err))
	}
	return nil
}

// loggedIn is by, of whom the caller knows that it is logged in.
func loggedIn(by account.Asker) account.Asker {
	by.Known = true
	return by
}

// gone reports that the account is no longer as it was when the password was
// checked.
func gone(err error) bool {
	return errors.Is(err, account.ErrStale) || errors.Is(err, account.ErrNotFound)
}
