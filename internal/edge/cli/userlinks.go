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
	"github.com/flakepass/flakepass/internal/edge/render"
)

type userLinks struct {
	because
	IssuedBy string `help:"Only those that this user gave out." placeholder:"NAME"`
	Withdraw bool   `help:"Take back all that this user gave out."`
	JSON     bool   `help:"Print JSON."`
}

func (c userLinks) Validate() error {
	switch {
	case c.Withdraw && c.IssuedBy == "":
		return errors.New("--withdraw needs --issued-by NAME; `user reset NAME --withdraw` takes back the link for one user")
	case c.Withdraw && c.JSON, !c.Withdraw && c.Reason != "":
		return errors.New("--json is for a list, and --reason is for --withdraw")
	}
	return nil
}

// A linkLine is a one-time link as --json prints it: never the link itself.
type linkLine struct {
	ID        wire.ID   `json:"id"`
	UserID    wire.ID   `json:"user_id"`
	Username  string    `json:"username"`
	IssuerID  *wire.ID  `json:"issuer_id"` // null for a command on the server
	Issuer    string    `json:"issuer"`
	IssuedAt  wire.Time `json:"issued_at"`
	ExpiresAt wire.Time `json:"expires_at"`
}

func linkLineOf(r *wire.OpenReset) linkLine {
	l := linkLine{r.ID, r.UserID, r.Username, nil, r.Issuer.Name, r.IssuedAt, r.ExpiresAt}
	if r.Issuer.ID != 0 {
		l.IssuerID = &r.Issuer.ID
	}
	return l
}

func (c userLinks) Run(a *app) error {
	at := a.looks
	if c.Withdraw {
		at = a.acts
	}
	return at(func(ctx context.Context, b backend) (err error) {
		var issuer wire.Person
		if c.IssuedBy != "" {
			if issuer, err = b.users.find(ctx, c.IssuedBy); err != nil {
				return err
			}
		}
		if c.Withdraw {
			n, err := b.resets.WithdrawIssuedPasswordResets(ctx, issuer.ID, c.Reason)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.out, "no link that %q gave out works now; %d did until now\n", printable(issuer.Username), n)
			return err
		}
		open, err := collect(b.resets.PasswordResets(ctx, issuer.ID))
		if err != nil {
			return err
		}
		return c.show(a.out, render.All(open, linkLineOf))
	})
}

func (c userLinks) show(out io.Writer, lines []linkLine) error {
	return show(out, c.JSON, lines, func(w io.Writer) {
		if len(lines) == 0 {
			by := ""
			if c.IssuedBy != "" {
				by = fmt.Sprintf(" that %q gave out", printable(c.IssuedBy))
			}
			_, _ = fmt.Fprintf(w, "no one-time link%s works now\n", by)
			return
		}
		_, _ = fmt.Fprintln(w, "FOR\tGIVEN OUT BY\tAT\tWORKS UNTIL")
		for _, l := range lines {
			_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", printable(l.Username), printable(l.Issuer), l.IssuedAt.Format(time.RFC3339), l.ExpiresAt.Format(time.RFC3339))
		}
	})
}

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
		return given(a.out, b, u.Username, r)
	}))
}

// given shows a started reset to a person, once.
func given(w io.Writer, b backend, name string, r client.PasswordReset) error {
	how := "  " + printable(r.URL()) + "\n"
	if r.Page == "" {
		how = "  " + printable(r.Token.Reveal()) + "\nThe page /console/password of the server asks for it.\n"
	}
	_, err := fmt.Fprintf(w, "Give this to %q only: anyone who has it can set the password. It works once, until %s.\n%s",
		printable(name), r.ExpiresAt.Format(time.RFC3339), how)
	return unseen(err, fmt.Sprintf("a link for %q", printable(name)), b.command+" user reset "+printable(name)+" --withdraw")
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
