package login

import (
	"context"
	"fmt"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/activity"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
)

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
		return nil, fmt.Errorf("login: list own logins: %w", err)
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
