package login

import (
	"context"
	"errors"
	"fmt"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
)

// Reauthenticate checks the password of a user who is logged in again, and the second
// factor if there is one, and stores the proof in the login. For a while the login may
// then do what a token alone is not enough for. It fails with [ErrCurrent], [ErrCurrentCode]
// or [account.ErrBusy], and with a [*ratelimit.LimitedError].
func (s *Service) Reauthenticate(ctx context.Context, c *Client, p account.Password, code secondfactor.Code) error {
	return s.prove(ctx, c, &reauthenticating, p, func(by account.Asker, user *account.User) error {
		if err := s.Accounts.VerifyPassword(ctx, by, *user, p); err != nil {
			return err
		}
		if err := s.code(ctx, c, user, code); err != nil {
			return err
		}
		e, err := audit.New(ctx, s.IDs, c.By, audit.NeedsLogin, audit.Reauthenticated, audit.AboutLogin(c.By.Session, c.By.Name), "", nil, nil)
		if err == nil {
			err = s.Proofs.Prove(ctx, user.PasswordVersion, e)
		}
		return afterProof("reauthenticate", err)
	})
}

// ChangePassword replaces the password of the user who is logged in, and ends the login.
// The user must know the old password and, if there is one, show the second factor. It
// fails as [Service.Reauthenticate] does, and with an [*invalid.Error] about the new
// password. That is checked before the code, so that a corrected one needs no new code;
// the error wraps [secondfactor.ErrUnchecked] as well.
func (s *Service) ChangePassword(ctx context.Context, c *Client, given, next account.Password, code secondfactor.Code) error {
	return s.prove(ctx, c, &changingPassword, given, func(by account.Asker, user *account.User) error {
		if err := s.Accounts.VerifyPassword(ctx, by, *user, given); err != nil {
			return err
		}
		// From here on the current password was right, and no error means a wrong guess.
		newHash := s.Accounts.NewHash
		if user.HasSecondFactor() {
			newHash = s.Accounts.NewHashBeside
		}
		hash, err := newHash(ctx, by, user.Username, next)
		if _, bad := errors.AsType[*invalid.Error](err); bad && user.HasSecondFactor() {
			return fmt.Errorf("%w: %w", err, secondfactor.ErrUnchecked)
		}
		if err != nil {
			return account.Undecided(err)
		}
		if err := s.code(ctx, c, user, code); err != nil {
			return err
		}
		e, err := s.event(ctx, c.By, user, audit.NeedsLogin, audit.PasswordChanged, nil)
		if err != nil {
			return afterProof("change password", err)
		}
		ended, err := s.Users.ResetPassword(ctx, user.ID, user.PasswordVersion, hash, e)
		if err == nil {
			err = s.Store.Publish(ctx, ended...)
		}
		return afterProof("change password", err)
	})
}

// afterProof returns err, which came after the password was right, as one that does not
// show a client that a password is wrong. If the account has changed meanwhile, it is
// errChanged, and the attempt looks again.
func afterProof(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, account.ErrStale), errors.Is(err, account.ErrNotFound):
		err = errChanged
	}
	return fmt.Errorf("login: %s: %w", what, account.Undecided(err))
}
