package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/internal/domain/account"
)

type userReset struct {
	named
	For      *span `help:"How long it works: 10m to 24h; 1h without it." placeholder:"DURATION" xor:"what"`
	Withdraw bool  `help:"Take back what was given out, and give out nothing." xor:"what"`
}

func (c userReset) Validate() error { return checkLife(c.For) }

func (c userReset) Run(a *app) error {
	return a.acts(ofUser(c.Name, func(ctx context.Context, b backend, u wire.Person) error {
		if c.Withdraw {
			if err := b.resets.WithdrawPasswordReset(ctx, u.ID, c.Reason); err != nil {
				return err
			}
			_, err := fmt.Fprintf(a.out, "no link for %q works now\n", printable(u.Username))
			return err
		}
		r, err := b.resets.StartPasswordReset(ctx, u.ID, client.ResetHow{Life: life(c.For), Reason: c.Reason})
		if err != nil {
			return err
		}
		return given(a.out, u.Username, r)
	}))
}

// given shows a started reset to a person, once.
func given(w io.Writer, name string, r client.PasswordReset) error {
	how := "  " + r.URL() + "\n"
	if r.Page == "" {
		how = "  " + r.Token.Reveal() + "\nThe page /console/password of the server asks for it.\n"
	}
	_, err := fmt.Fprintf(w, "Give this to %q only: anyone who has it can set the password. It works once, until %s.\n%s",
		printable(name), r.ExpiresAt.Format(time.RFC3339), how)
	return err
}

// life is how long a reset lasts.
func life(asked *span) time.Duration {
	if asked == nil {
		return time.Hour
	}
	return time.Duration(*asked)
}

// checkLife refuses a time that no reset may last for.
func checkLife(asked *span) error {
	if d := life(asked); d < account.MinResetLife || d > account.MaxResetLife {
		return errors.New("--for must be from 10m to 24h")
	}
	return nil
}
