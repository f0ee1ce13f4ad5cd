package cli

import (
	"context"
	"errors"

	apiclient "github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/internal/domain/account"
)

type remoteUserReset struct{ userReset }

func (c remoteUserReset) Run(a *app) error {
	return a.remotely(func(ctx context.Context, s counter) error {
		u, err := s.find(ctx, c.Name)
		if err != nil {
			return err
		}
		if c.Withdraw {
			if err := s.WithdrawPasswordReset(ctx, u.ID, c.Reason); err != nil {
				return err
			}
			return withdrawn(a.out, u.Username)
		}
		r, err := s.StartPasswordReset(ctx, u.ID, apiclient.ResetHow{Life: c.For, Reason: c.Reason})
		if err != nil {
			return err
		}
		return given(a.out, u.Username, shownReset{r.Token.Reveal(), r.URL(), r.ExpiresAt})
	})
}

// invite is that of userAdd, on a server elsewhere.
func (c remoteUserAdd) invite(a *app) error {
	return a.remotely(func(ctx context.Context, s counter) error {
		i, err := s.InviteUser(ctx, apiclient.NewUser{Username: c.Name, Role: c.Role, Reason: c.Reason}, c.For)
		if errors.Is(err, apiclient.UsernameTaken) {
			return errTaken(c.Name, "flakepass remote")
		}
		if err != nil {
			return err
		}
		if err := added(a.out, i.User.Username, account.Role(i.User.Role)); err != nil {
			return err
		}
		return given(a.out, i.User.Username, shownReset{i.Reset.Token.Reveal(), i.Reset.URL(), i.Reset.ExpiresAt})
	})
}
