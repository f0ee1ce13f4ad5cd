package login

import (
	"context"
	"fmt"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/activity"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// Logout ends the login that t opens. It also succeeds if there is none, so that a
// caller cannot test tokens with it. An error wrapping [session.ErrUnpublished] means
// that the login is over, and that the end is effective everywhere within the bound.
func (s *Service) Logout(ctx context.Context, c *Client, t flakepass.Token) error {
	ended, err := s.Sessions.Close(ctx, c.By, t)
	if ended.ID == 0 { // the ID is only what a stranger claims
		return err
	}
	args := []any{"user_id", ended.UserID, "session_id", t.ID()}
	switch {
	case endedNow(&ended, err):
		if err != nil {
			args = append(args, "err", err)
		}
		s.Counts.Add(activity.Logout, own(&ended))
		s.log(ctx, c, "logout", endOf(&ended), args...)
	case err == nil:
		s.log(ctx, c, "logout of a login that was over", "", append(args, "reason", ended.Ended)...)
	}
	return err
}

// Revoke is [Service.Logout] of a token that another service has received. The record
// names that service, and its address.
func (s *Service) Revoke(ctx context.Context, c *Client, t flakepass.Token) error {
	by := c.By
	by.Address = c.from()
	ended, err := s.Sessions.Revoke(ctx, by, t)
	what, args := "revoked", []any{"user_id", ended.UserID, "session_id", ended.ID}
	switch {
	case ended.ID == 0, !session.Done(err): // the ID is only what a stranger claims
		return err
	case err != nil:
		what, args = "revoked, not published", append(args, "err", err)
	case ended.Before:
		what, args = "revocation of a login that was over", append(args, "reason", ended.Ended)
	}
	if !ended.Before {
		s.Counts.Add(activity.Logout, own(&ended))
	}
	s.Log.InfoContext(ctx, what, append(args, by.LogArgs()...)...) //nolint:sloglint // one of three constants
	return err
}

// own is 1 for a login of its user, and 0 for an impersonation: that is counted neither when it
// begins nor when it ends.
func own(was *session.Session) int {
	if was.Act != 0 {
		return 0
	}
	return 1
}

// endOf is the action in the record that ended a login.
func endOf(was *session.Session) audit.Action {
	if was.Act != 0 {
		return audit.ImpersonationEnded
	}
	return audit.LoginLoggedOut
}

// endedNow reports whether this call ended the login.
func endedNow(was *session.Session, err error) bool {
	return was.ID != 0 && !was.Before && session.Done(err)
}

// Held are the rows of the logins. WithLogins returns a user with the aliases, and the logins that are kept,
// the newest first.
type Held interface {
	WithLogins(ctx context.Context, id idworker.ID) (account.User, []session.Session, error)
}

// Devices are the logins of the user who acts. *session.Service is one.
type Devices interface {
	Living(held []session.Session) ([]session.Login, error)
	EndOwn(ctx context.Context, by audit.Actor, id idworker.ID) (session.Session, error)
	EndOthers(ctx context.Context, by audit.Actor) ([]session.Session, error)
	EndEverywhere(ctx context.Context, by audit.Actor) ([]session.Session, error)
}

// Logins returns the living logins of the user who asks, the newest first. It reads the rows,
// and no cache: a user who looks for a stranger's login has to see every one.
func (s *Service) Logins(ctx context.Context, c *Client) ([]session.Login, error) {
	_, held, err := s.Held.WithLogins(ctx, c.By.ID)
	if err != nil {
		return nil, fmt.Errorf("login: list own logins: %w", s.over(ctx, c, err))
	}
	return s.Devices.Living(held)
}

// LogoutDevice ends one login of the user who is logged in. One that was over is no error. It
// fails with [session.ErrNotFound] if the user has no such login, and with [audit.ErrUnproven]
// if it is another login and password and code were not shown lately. An error wrapping
// [session.ErrUnpublished] is as in [Service.Logout].
func (s *Service) LogoutDevice(ctx context.Context, c *Client, id idworker.ID) error {
	ended, err := s.Devices.EndOwn(ctx, c.By, id)
	if ended.ID == 0 {
		return err
	}
	s.left(ctx, c, "logout of a device", []session.Session{ended}, err)
	return err
}

// LogoutOthers ends all logins of the user who is logged in except the one that asks, and
// returns how many of them lived, without impersonations. It fails as [Service.LogoutDevice] does for
// another login.
func (s *Service) LogoutOthers(ctx context.Context, c *Client) (int, error) {
	ended, err := s.Devices.EndOthers(ctx, c.By)
	return s.left(ctx, c, "logout of the other devices", ended, err), err
}

// LogoutEverywhere ends all logins of the user who is logged in. It needs no proof: see
// [session.Service.EndEverywhere].
func (s *Service) LogoutEverywhere(ctx context.Context, c *Client) error {
	ended, err := s.Devices.EndEverywhere(ctx, c.By)
	s.left(ctx, c, "logout everywhere", ended, err)
	return err
}

// left counts and logs the logins that a user has ended, and returns how many they were. It logs
// impersonations, and does not count them.
func (s *Service) left(ctx context.Context, c *Client, what string, ended []session.Session, err error) (n int) {
	for i := range ended {
		if !endedNow(&ended[i], err) {
			continue
		}
		n += own(&ended[i])
		args := []any{"user_id", ended[i].UserID, "session_id", ended[i].ID, "by_session", c.By.Session}
		if err != nil {
			args = append(args, "err", err)
		}
		s.log(ctx, c, what, endOf(&ended[i]), args...)
	}
	s.Counts.Add(activity.Logout, n)
	return n
}
