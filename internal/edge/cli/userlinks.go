package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
)

type userLinks struct {
	because
	IssuedBy string `help:"Only those that this user gave out." placeholder:"NAME"`
	Withdraw bool   `help:"Take back all that this user gave out."`
	JSON     bool   `help:"Print JSON."`
}

// Validate is called by kong.
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
	ID        idworker.ID  `json:"id"`
	UserID    idworker.ID  `json:"user_id"`
	Username  string       `json:"username"`
	IssuerID  *idworker.ID `json:"issuer_id"` // null for a command on the server
	Issuer    string       `json:"issuer"`
	IssuedAt  audit.Time   `json:"issued_at"`
	ExpiresAt audit.Time   `json:"expires_at"`
}

func (c userLinks) Run(a *app) error {
	at := a.looks
	if c.Withdraw {
		at = a.acts
	}
	return at(func(ctx context.Context, p place) (err error) {
		var issuer person
		if c.IssuedBy != "" {
			if issuer, err = p.users.find(ctx, c.IssuedBy); err != nil {
				return err
			}
		}
		if c.Withdraw {
			n, err := p.resets.withdrawIssued(ctx, issuer, c.Reason)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.out, "no link that %q gave out works now; %d did until now\n", printable(issuer.name), n)
			return err
		}
		lines, err := p.resets.open(ctx, issuer)
		if err != nil {
			return err
		}
		return c.show(a.out, lines)
	})
}

func linkLineOf(id, user idworker.ID, name string, issuerID idworker.ID, issuer string, expires time.Time) linkLine {
	l := linkLine{ID: id, UserID: user, Username: name, Issuer: issuer, IssuedAt: audit.Time{Time: idworker.Default().Time(id)}, ExpiresAt: audit.Time{Time: expires}}
	if issuerID != 0 {
		l.IssuerID = &issuerID
	}
	return l
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
