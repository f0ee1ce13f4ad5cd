package login

import (
	"context"
	"errors"
	"fmt"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
)

// HasFactor reports whether the logins of the user who is logged in need a code.
func (s *Service) HasFactor(ctx context.Context, c *Client) (bool, error) {
	user, err := s.Users.ByID(ctx, c.By.ID)
	if err != nil {
		return false, fmt.Errorf("login: second factor: %w", s.over(ctx, c, err))
	}
	return user.HasSecondFactor(), nil
}

// BeginFactor begins a second factor for a user, who has to know the password. The
// factor is active after [Service.ConfirmFactor] has accepted a code. It fails as
// [Service.Reauthenticate] does, and with [secondfactor.ErrOff] or
// [secondfactor.ErrEnrolled].
func (s *Service) BeginFactor(ctx context.Context, c *Client, given account.Password) (e secondfactor.Enrolment, err error) {
	err = s.prove(ctx, c, &enrolling, given, func(by account.Asker, user *account.User) error {
		err := s.Accounts.VerifyPassword(ctx, by, *user, given)
		if err == nil {
			e, err = s.Factors.Begin(ctx, c.By, user)
			err = afterProof("begin second factor", err)
		}
		return err
	})
	return e, err
}

// ConfirmFactor activates the factor that [Service.BeginFactor] began, and returns the
// recovery codes. The login goes on. It fails with [ErrCurrentCode],
// [secondfactor.ErrNotEnrolled] or [secondfactor.ErrEnrolled].
func (s *Service) ConfirmFactor(ctx context.Context, c *Client, code secondfactor.Code) (codes []secondfactor.RecoveryCode, err error) {
	err = s.prove(ctx, c, &confirming, account.Password{}, func(_ account.Asker, user *account.User) (err error) {
		codes, err = s.Factors.Confirm(ctx, c.By, user, code)
		if errors.Is(err, secondfactor.ErrNotEnrolled) || errors.Is(err, secondfactor.ErrEnrolled) {
			return err
		}
		return ofCode(err)
	})
	return codes, err
}

// RenewRecovery makes new recovery codes for a user, who has to know the password
// and to send a code, which may be one of the old ones. Afterwards no old one counts.
// It fails as [Service.Reauthenticate] does, and with [secondfactor.ErrNotEnrolled].
func (s *Service) RenewRecovery(ctx context.Context, c *Client, given account.Password, code secondfactor.Code) (codes []secondfactor.RecoveryCode, err error) {
	err = s.prove(ctx, c, &renewing, given, func(by account.Asker, user *account.User) error {
		err := s.both(ctx, c, by, user, given, code)
		if err == nil {
			codes, err = s.Factors.Renew(ctx, c.By, user)
			err = afterProof("renew recovery codes", err)
		}
		return err
	})
	return codes, err
}

// RemoveFactor removes the factor of a user, who has to know the password and to
// show a code, once more. It fails as [Service.RenewRecovery] does, and with
// [ErrKeepFactor] if the password would be too short to be the only factor.
func (s *Service) RemoveFactor(ctx context.Context, c *Client, given account.Password, code secondfactor.Code) error {
	return s.prove(ctx, c, &removing, given, func(by account.Asker, user *account.User) error {
		if user.HasSecondFactor() && !given.Alone() {
			if err := s.Accounts.VerifyPassword(ctx, by, *user, given); err != nil {
				return err
			}
			return afterProof("remove second factor", account.ErrShort)
		}
		err := s.both(ctx, c, by, user, given, code)
		if err == nil {
			err = afterProof("remove second factor", s.Factors.Remove(ctx, c.By, user))
		}
		return err
	})
}

// both checks the password and the code of a user who has a second factor.
func (s *Service) both(ctx context.Context, c *Client, by account.Asker, user *account.User, given account.Password, code secondfactor.Code) error {
	if err := s.Accounts.VerifyPassword(ctx, by, *user, given); err != nil {
		return err
	}
	if !user.HasSecondFactor() {
		return afterProof("check code", secondfactor.ErrNotEnrolled)
	}
	return s.code(ctx, c, user, code)
}

// code checks the code of a user who has a second factor; other users need none. A right code is
// used up. When the same attempt looks at the account again, this code still counts, unless the
// user has another factor by then.
func (s *Service) code(ctx context.Context, c *Client, user *account.User, code secondfactor.Code) error {
	if !user.HasSecondFactor() || user.SecondFactorAt.Equal(c.accepted) {
		return nil
	}
	err := s.Codes.Check(ctx, c.By, user, code)
	if err == nil {
		c.accepted = user.SecondFactorAt
	}
	return ofCode(err)
}

// ofCode turns the error of a check of a code into the error of the attempt. The user had a second
// factor when the account was read. An error about the code is returned as it is. With any other
// error nothing was guessed, so the attempt is undecided. If the factor has gone meanwhile, the
// account has changed: this is [errChanged], which is undecided as well.
func ofCode(err error) error {
	switch {
	case err == nil, errors.Is(err, secondfactor.ErrRequired), errors.Is(err, secondfactor.ErrInvalid), errors.Is(err, secondfactor.ErrTicket):
		return err
	case errors.Is(err, secondfactor.ErrNotEnrolled):
		err = errChanged
	}
	return account.Undecided(err)
}
