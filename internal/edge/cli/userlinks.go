package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	apiclient "github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/server/run"
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
	if c.Withdraw {
		return a.withUser(c.IssuedBy, func(ctx context.Context, o *office, u account.User) error {
			n, err := o.Users.WithdrawIssued(ctx, operator(), u.ID, c.Reason)
			if err != nil {
				return err
			}
			return c.withdrawn(a.out, u.Username, n)
		})
	}
	return a.withOffice(run.OpenExisting, func(ctx context.Context, o *office) error {
		const page = 500
		var issuer idworker.ID
		if c.IssuedBy != "" {
			u, err := o.find(ctx, c.IssuedBy)
			if err != nil {
				return err
			}
			issuer = u.ID
		}
		lines := []linkLine{}
		for before := idworker.ID(0); ; {
			open, err := o.Users.ListResets(ctx, issuer, before, page)
			if err != nil {
				return err
			}
			for _, r := range open {
				lines = append(lines, linkLineOf(r.ID, r.UserID, r.Username, r.Issuer.ID, r.Issuer.Name, r.ExpiresAt))
				before = r.ID
			}
			if len(open) < page {
				return c.show(a.out, lines)
			}
		}
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

func (c userLinks) withdrawn(out io.Writer, name string, n int) error {
	_, err := fmt.Fprintf(out, "no link that %q gave out works now; %d did until now\n", printable(name), n)
	return err
}

type remoteUserLinks struct{ userLinks }

func (c remoteUserLinks) Run(a *app) error {
	return a.remotely(func(ctx context.Context, s counter) error {
		var issuer apiclient.Person
		if c.IssuedBy != "" {
			var err error
			if issuer, err = s.find(ctx, c.IssuedBy); err != nil {
				return err
			}
		}
		if c.Withdraw {
			n, err := s.WithdrawIssuedPasswordResets(ctx, issuer.ID, c.Reason)
			if err != nil {
				return err
			}
			return c.withdrawn(a.out, issuer.Username, n)
		}
		lines := []linkLine{}
		for r, err := range s.PasswordResets(ctx, issuer.ID) {
			if err != nil {
				return err
			}
			lines = append(lines, linkLineOf(idworker.ID(r.ID), idworker.ID(r.UserID), r.Username, idworker.ID(r.Issuer.ID), r.Issuer.Name, r.ExpiresAt))
		}
		return c.show(a.out, lines)
	})
}
