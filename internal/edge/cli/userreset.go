package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/admin"
	"github.com/flakepass/flakepass/internal/server/config"
	"github.com/flakepass/flakepass/internal/server/run"
	"github.com/flakepass/flakepass/internal/store/gormstore"
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
	return a.withUser(c.Name, func(ctx context.Context, o *office, u account.User) error {
		if c.Withdraw {
			if err := o.Users.WithdrawReset(ctx, operator(), u.ID, c.Reason); err != nil {
				return err
			}
			return withdrawn(a.out, u.Username)
		}
		r, err := o.Users.StartReset(ctx, operator(), u.ID, c.For, c.Reason)
		if err != nil {
			return err
		}
		return given(a.out, u.Username, resetOf(o.cfg, r))
	})
}

// A shownReset is what a person is shown of a started reset, once.
type shownReset struct {
	token, url string
	expires    time.Time
}

func resetOf(cfg config.Config, r admin.StartedReset) shownReset {
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

func withdrawn(w io.Writer, name string) error {
	_, err := fmt.Fprintf(w, "no link for %q works now\n", printable(name))
	return err
}

// checkLife refuses a time that no reset may last for.
func checkLife(d time.Duration) error {
	if d < account.MinResetLife || d > account.MaxResetLife {
		return errors.New("--for must be from 10m to 24h")
	}
	return nil
}

// invite adds a user who sets the first password.
func (c userAdd) invite(a *app) error {
	orMake := func(ctx context.Context, cfg config.Config, log *slog.Logger) (*gormstore.DB, error) {
		return run.OpenOrMake(ctx, cfg, log, a.out)
	}
	return a.withMint(orMake, func(ctx context.Context, o *office) error {
		u, r, err := o.Users.Invite(ctx, operator(), c.Name, account.Role(c.Role), c.For, c.Reason)
		if errors.Is(err, account.ErrExists) {
			return errTaken(c.Name, "flakepass")
		}
		if err != nil {
			return err
		}
		if err := added(a.out, u.Username, u.Role); err != nil {
			return err
		}
		return given(a.out, u.Username, resetOf(o.cfg, r))
	})
}
