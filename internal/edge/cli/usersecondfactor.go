package cli

import (
	"context"
	"fmt"
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
	return a.acts(func(ctx context.Context, p place) error {
		u, err := p.users.find(ctx, c.Name)
		if err != nil {
			return err
		}
		if !u.hasFactor {
			_, err := fmt.Fprintf(a.out, "user %q has no second factor\n", printable(u.name))
			return err
		}
		ended, err := p.users.removeFactor(ctx, u, c.Reason)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(a.out, "second factor of %q removed; a password of fewer than 15 characters opens nothing now, and has to be set anew\n", printable(u.name))
		return a.say(ended, nil)
	})
}
