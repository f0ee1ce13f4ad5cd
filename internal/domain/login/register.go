package login

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/ratelimit"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// Register makes the account of a new user, and returns it. It fails with an
// [*invalid.Error], [account.ErrExists] or [account.ErrBusy], and with a
// [*ratelimit.LimitedError].
func (s *Service) Register(ctx context.Context, c *Client, username string, p account.Password) (account.User, error) {
	var user account.User
	err := account.Unacceptable(username, p) // costs nothing, and is not counted
	if err == nil {
		err = s.fromSource(ctx, c, s.Sources.Register, func() (err error) {
			user, err = s.create(ctx, c, c.asker(false), username, p, account.RoleUser, s.Users.Create)
			return err
		})
	}
	return user, s.finish(ctx, c, &registering, audit.AboutUser(user.ID, user.Username), err)
}

// CreateFirst makes the first admin of the deployment, for the holder of the link. It
// fails as [Service.Register] does, and with [account.ErrHasAdmin].
func (s *Service) CreateFirst(ctx context.Context, c *Client, username string, p account.Password) (account.User, error) {
	user, err := s.create(ctx, c, c.asker(true), username, p, account.RoleAdmin, s.Users.CreateFirstAdmin)
	return user, s.finish(ctx, c, &makingFirst, audit.AboutUser(user.ID, user.Username), err)
}

// create makes an account, and stores it with the event that its user has made it.
func (s *Service) create(ctx context.Context, c *Client, by account.Asker, username string, p account.Password, role account.Role,
	store func(context.Context, account.User, ...audit.Event) error,
) (account.User, error) {
	user, err := s.Newcomers.New(ctx, by, username, p, role)
	if err != nil {
		return account.User{}, err
	}
	e, err := s.event(ctx, c.By, &user, audit.NeedsNothing, audit.UserCreated, struct {
		Role account.Role `json:"role"`
	}{role})
	if err == nil {
		err = store(ctx, user, e)
	}
	if err != nil {
		return account.User{}, fmt.Errorf("login: register: %w", unanswered(ctx, err))
	}
	return user, nil
}

// fromSource runs do, which is counted by the address of the client. If nothing was
// decided, the count is given back.
func (s *Service) fromSource(ctx context.Context, c *Client, take func(context.Context, netip.Addr) (ratelimit.Taken, error), do func() error) error {
	taken, err := take(ctx, c.Address)
	if err != nil {
		return err
	}
	if err = do(); errors.Is(err, account.ErrUndecided) {
		s.Attempts.Return(ctx, taken)
	}
	return err
}

// unanswered returns err as [account.ErrUndecided] if the fault is here. It does not do
// so if the client has left: the client may be the cause, and its attempt counts.
func unanswered(ctx context.Context, err error) error {
	for _, decided := range []error{account.ErrExists, account.ErrHasAdmin, account.ErrReset, account.ErrDisabled, session.ErrUnpublished} {
		if errors.Is(err, decided) {
			return err
		}
	}
	if ctx.Err() != nil {
		return err
	}
	return account.Undecided(err)
}
