package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/flakepass/flakepass/api/wire"
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
