package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/flakepass/flakepass/internal/domain/account"
)

type userSecondFactor struct {
	Remove userSecondFactorRemove `cmd:"" help:"Remove the second factor of a user who has lost it, and end the login."`
	Rekey  userSecondFactorRekey  `cmd:"" help:"Encrypt the stored secrets under the newest key."`
}

type userSecondFactorRemove struct {
	because
	Name string `arg:"" help:"The username."`
}

func (c userSecondFactorRemove) Run(a *app) error {
	return a.withUser(c.Name, func(ctx context.Context, o *office, u account.User) error {
		if !u.HasSecondFactor() {
			return saysNoFactor(a.out, u.Username)
		}
		ended, err := o.Users.RemoveSecondFactor(ctx, operator(), u.ID, c.Reason)
		if done(err) {
			saysFactorRemoved(a.out, u.Username)
		}
		return o.over(a.out, ended, err)
	})
}

// What a removal came to, wherever it was made.
func saysNoFactor(w io.Writer, name string) error {
	_, err := fmt.Fprintf(w, "user %q has no second factor\n", name)
	return err
}

func saysFactorRemoved(w io.Writer, name string) {
	_, _ = fmt.Fprintf(w, "second factor of %q removed; a password of fewer than 15 characters opens nothing now, and has to be set anew\n", name)
}

type remoteUserSecondFactor struct {
	Remove remoteUserSecondFactorRemove `cmd:"" help:"Remove the second factor of a user who has lost it, and end the login."`
}

type remoteUserSecondFactorRemove struct{ userSecondFactorRemove }

func (c remoteUserSecondFactorRemove) Run(a *app) error {
	return a.remotely(func(ctx context.Context, s counter) error {
		u, err := s.find(ctx, c.Name)
		if err != nil {
			return err
		}
		if !u.HasFactor {
			return saysNoFactor(a.out, printable(u.Username))
		}
		var within time.Duration
		if within, err = s.RemoveUsersSecondFactor(ctx, u.ID, c.Reason); err != nil {
			return err
		}
		saysFactorRemoved(a.out, printable(u.Username))
		_, err = fmt.Fprintf(a.out, "a login, if there was one, has ended %s\n", everywhere(within))
		return err
	})
}
