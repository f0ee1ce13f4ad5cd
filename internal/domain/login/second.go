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

// Factors enrol second factors and check their codes. *secondfactor.Service is
// one.
type Factors interface {
	Check(ctx context.Context, user *account.User, code secondfactor.Code) error
	Enrol(ctx context.Context, user *account.User) (secondfactor.Enrolment, error)
	Confirm(ctx context.Context, user *account.User, code secondfactor.Code) ([]secondfactor.RecoveryCode, error)
	Remove(ctx context.Context, user *account.User) error
	State(ctx context.Context, user idworker.ID) (secondfactor.State, error)
	Renew(ctx context.Context, user *account.User) ([]secondfactor.RecoveryCode, error)
	CheckTicket(ctx context.Context, user *account.User, h secondfactor.Holder, code secondfactor.Code) error
	Ticket(ctx context.Context, h secondfactor.Holder) (secondfactor.Ticket, error)
	Redeem(text string) (secondfactor.Holder, error)
}

// A NeedsCodeError is [secondfactor.ErrRequired], with the ticket that stands for
// the password when the code comes.
type NeedsCodeError struct{ Ticket secondfactor.Ticket }

// Error is that of [secondfactor.ErrRequired].
func (*NeedsCodeError) Error() string { return secondfactor.ErrRequired.Error() }

// Unwrap is [secondfactor.ErrRequired].
func (*NeedsCodeError) Unwrap() error { return secondfactor.ErrRequired }

var errNoFactors = errors.New("login: the account has a second factor, and nothing here can check it")

// second is what stands between the right password and a login. A password that
// is too short to be the only factor opens nothing without another: it was chosen
// beside a second factor, which an admin has removed since.
func (s *Service) second(ctx context.Context, user *account.User, p account.Password, code secondfactor.Code) error {
	if !user.HasSecondFactor() {
		if !p.Alone() {
			return account.ErrShort
		}
		return nil
	}
	err := s.code(ctx, user, code)
	if errors.Is(err, secondfactor.ErrRequired) {
		ticket, err := s.Factors.Ticket(ctx, secondfactor.Holder{
			UserID: user.ID, Username: user.Username, PasswordVersion: user.PasswordVersion,
		})
		if err != nil { // and the password was right
			return account.Undecided(err)
		}
		return &NeedsCodeError{ticket}
	}
	return err
}

// code checks one of a user who has a second factor; nobody else needs any.
func (s *Service) code(ctx context.Context, user *account.User, code secondfactor.Code) error {
	switch {
	case !user.HasSecondFactor():
		return nil
	case s.Factors == nil:
		return errNoFactors
	}
	return s.Factors.Check(ctx, user, code)
}

// Holder is whose attempt a code with that ticket is, or [secondfactor.ErrTicket].
func (s *Service) Holder(ticket string) (secondfactor.Holder, error) {
	if s.Factors == nil {
		return secondfactor.Holder{}, secondfactor.ErrTicket
	}
	return s.Factors.Redeem(ticket)
}

// FinishAs is the second half of [Service.LoginAs]: the code, with the ticket that
// says that the password was shown. It fails as that does, and with
// [secondfactor.ErrTicket] if the ticket is too old, if a code was taken since, or if
// the password or the factor has changed.
func (s *Service) FinishAs(ctx context.Context, role account.Role, ticket string, code secondfactor.Code) (session.Opened, error) {
	h, err := s.Holder(ticket)
	if err != nil {
		return session.Opened{}, err
	}
	user, err := s.Users.ByID(ctx, h.UserID)
	switch {
	case errors.Is(err, account.ErrNotFound):
		return session.Opened{}, secondfactor.ErrTicket
	case err != nil:
		return session.Opened{}, fmt.Errorf("login: finish: %w", account.Undecided(err))
	case user.Disabled():
		return session.Opened{}, &account.RefusedError{UserID: user.ID, Username: user.Username, Role: user.Role, Err: account.ErrDisabled}
	case user.PasswordVersion != h.PasswordVersion, !user.HasSecondFactor():
		return session.Opened{}, &account.RefusedError{UserID: user.ID, Username: user.Username, Role: user.Role, Err: secondfactor.ErrTicket}
	}
	if err := s.Factors.CheckTicket(ctx, &user, h, code); err != nil {
		return session.Opened{}, &account.RefusedError{UserID: user.ID, Username: user.Username, Role: user.Role, Err: err}
	}
	return s.open(ctx, &user, func(r account.Role) bool { return r == role })
}

// HasFactor reports whether that user's logins need a code.
func (s *Service) HasFactor(ctx context.Context, id idworker.ID) (bool, error) {
	user, err := s.Users.ByID(ctx, id)
	if err != nil {
		return false, fmt.Errorf("login: second factor: %w", err)
	}
	return user.HasSecondFactor(), nil
}

// EnrolFactor begins a second factor of a user, who has to know the password; it
// counts once [Service.ConfirmFactor] was shown a code. It fails with
// [account.ErrWrong], [secondfactor.ErrOff] or [secondfactor.ErrEnrolled].
func (s *Service) EnrolFactor(ctx context.Context, by account.Asker, id idworker.ID, current account.Password) (secondfactor.Enrolment, error) {
	user, err := s.known(ctx, by, id, current)
	if err != nil {
		return secondfactor.Enrolment{}, err
	}
	return s.Factors.Enrol(ctx, &user)
}

// ConfirmFactor makes the factor count that [Service.EnrolFactor] began. The login
// goes on. It fails as [secondfactor.Service.Confirm] does.
func (s *Service) ConfirmFactor(ctx context.Context, id idworker.ID, code secondfactor.Code) ([]secondfactor.RecoveryCode, error) {
	user, err := s.Users.ByID(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("login: confirm second factor: %w", account.Undecided(err))
	}
	if s.Factors == nil {
		return nil, secondfactor.ErrOff
	}
	return s.Factors.Confirm(ctx, &user, code)
}

// RemoveFactor removes the factor of a user, who has to know the password and to
// show a code, once more. It fails with [account.ErrWrong],
// [secondfactor.ErrNotEnrolled], [secondfactor.ErrRequired],
// [secondfactor.ErrInvalid], and with [account.ErrShort] if the password would be
// too short to be the only factor.
func (s *Service) RemoveFactor(ctx context.Context, by account.Asker, id idworker.ID, current account.Password, code secondfactor.Code) error {
	user, err := s.known(ctx, by, id, current)
	switch {
	case err != nil:
		return err
	case !user.HasSecondFactor():
		return secondfactor.ErrNotEnrolled
	case !current.Alone():
		return account.ErrShort
	}
	if err := s.code(ctx, &user, code); err != nil {
		return err
	}
	if err := s.Factors.Remove(ctx, &user); errors.Is(err, account.ErrStale) {
		return account.ErrWrong // it was right a moment ago
	} else if err != nil {
		return err
	}
	return nil
}

// known is the user with that ID, who knows the password.
func (s *Service) known(ctx context.Context, by account.Asker, id idworker.ID, current account.Password) (account.User, error) {
	user, err := s.Users.ByID(ctx, id)
	if err != nil {
		return account.User{}, fmt.Errorf("login: second factor: %w", account.Undecided(err))
	}
	if s.Factors == nil {
		return account.User{}, secondfactor.ErrOff
	}
	return user, s.Accounts.VerifyPassword(ctx, loggedIn(by), user, current)
}
