package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/server/config"
)

type userReset struct {
	because
	Name     string        `arg:"" help:"The username."`
	For      time.Duration `help:"How long it works: 10m to 24h." default:"1h" placeholder:"DURATION"`
	Withdraw bool          `help:"Take back what was given out, and give out nothing."`
}

// Validate is called by kong.
func (c userReset) Validate() error { return checkLife(c.For) }

func (c userReset) Run(a *app) error {
	return a.acts(func(ctx context.Context, p place) error {
		u, err := p.users.find(ctx, c.Name)
		if err != nil {
			return err
		}
		if c.Withdraw {
			if err := p.resets.withdraw(ctx, u, c.Reason); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.out, "no link for %q works now\n", printable(u.name))
			return err
		}
		r, err := p.resets.start(ctx, u, c.For, c.Reason)
		if err != nil {
			return err
		}
		return given(a.out, u.name, r)
	})
}

// A shownReset is what a person is shown of a started reset, once.
type shownReset struct {
	token, url string
	expires    time.Time
}

func resetOf(cfg config.Config, r operator.StartedReset) shownReset {
	s := shownReset{token: r.Token.Reveal(), expires: r.ExpiresAt}
	if cfg.PublicURL != "" {
		s.url = cfg.PublicURL + "/console/password#" + s.token
	}
	return s
}

func given(w io.Writer, name string, r shownReset) error {
	how := "  " + r.url + "\n"
	if r.url == "" {
		how = "  " + r.token + "\nThe page /console/password of the server asks for it.\n"
	}
	_, err := fmt.Fprintf(w, "Hand this to %q and to nobody else: whoever has it sets the password. It works once, until %s.\n%s",
		printable(name), r.expires.Format(time.RFC3339), how)
	return err
}

// checkLife refuses a time that no reset may last for.
func checkLife(d time.Duration) error {
	if d < account.MinResetLife || d > account.MaxResetLife {
		return errors.New("--for must be from 10m to 24h")
	}
	return nil
}
