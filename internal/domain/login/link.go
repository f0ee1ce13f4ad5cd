package login

import (
	"context"
	"errors"
	"fmt"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// SetByLink sets the password of the user for whom a reset was started, by the text
// of its token, and ends the login; it begins no login. Its errors
// change nothing, and a valid token stays valid:
//   - [account.ErrReset]: the token is not valid, or not any more
//   - [account.ErrDisabled]: the account is disabled; the token works when it is enabled
//   - an [*invalid.Error] about the password
//   - [account.ErrBusy]
//   - a [*ratelimit.LimitedError]: each attempt counts, also one with an invalid token,
//     because a valid one costs a hash
func (s *Service) SetByLink(ctx context.Context, c *Client, token string, p account.Password) error {
	var user account.User
	err := s.fromSource(ctx, c, s.Sources.Reset, func() error {
		t, err := account.ParseResetToken(token)
		if err == nil {
			user, err = s.spend(ctx, c, t, p)
		}
		return err
	})
	if session.Done(err) {
		s.Sources.WasReset(ctx, c.attemptOf(&user))
	}
	return s.finish(ctx, c, &byLink, audit.AboutUser(user.ID, user.Username), err)
}

// spend sets the password of the user to whom the reset of t belongs. If the reset is
// known, an [*account.RefusedError] names that user and who started it, for the record.
func (s *Service) spend(ctx context.Context, c *Client, t account.ResetToken, p account.Password) (account.User, error) {
	// The token comes first. Without a valid one a client must not learn the username from
	// the check of the password, nor make the server hash.
	user, issuer, err := s.Links.ByReset(ctx, t.Hash(), s.Now())
	if err != nil {
		return account.User{}, fmt.Errorf("login: reset: %w", unanswered(ctx, err))
	}
	about := func(err error) error {
		return &account.RefusedError{UserID: user.ID, Username: user.Username, Role: user.Role, Issuer: issuer, Err: err}
	}
	if user.Disabled() {
		return account.User{}, about(account.ErrDisabled)
	}
	hash, err := s.Accounts.NewHash(ctx, c.asker(true), user.Username, p) // such a token cannot be guessed
	if _, wrong := errors.AsType[*invalid.Error](err); err != nil && !wrong {
		err = account.Undecided(err) // nothing was hashed
	}
	if err != nil {
		return account.User{}, err
	}
	e, err := s.event(ctx, c.By, &user, audit.NeedsNothing, audit.ResetUsed, issuer)
	if err != nil {
		return account.User{}, account.Undecided(err)
	}
	ended, err := s.Links.UseReset(ctx, account.Reset{UserID: user.ID, Hash: t.Hash()}, user.PasswordVersion, hash, s.Now(), e)
	if err != nil {
		return account.User{}, fmt.Errorf("login: reset: %w", about(unanswered(ctx, err)))
	}
	if err := s.Store.Publish(ctx, ended...); err != nil {
		return user, fmt.Errorf("login: reset: %w", err)
	}
	return user, nil
}
