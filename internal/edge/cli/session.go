package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/admin"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/server/run"
)

type sessionCommand struct {
	List sessionList `cmd:"" help:"List the logins that live, newest first."`
	End  sessionEnd  `cmd:"" help:"End one login."`
}

type sessionList struct {
	User  string `help:"Only the login of this user." placeholder:"NAME"`
	Limit int    `help:"At most so many." default:"50"`
	JSON  bool   `help:"Print JSON."`
}

// Validate is called by kong.
func (c sessionList) Validate() error {
	if c.Limit < 1 {
		return errors.New("--limit is at least 1")
	}
	return nil
}

func (c sessionList) Run(a *app) error {
	return a.withOffice(run.OpenExisting, func(ctx context.Context, o *office) error {
		found, err := c.find(ctx, o)
		if err != nil {
			return err
		}
		lines := make([]sessionLine, len(found))
		for i := range found {
			l := &found[i]
			lines[i] = sessionLineOf(l.ID, l.UserID, l.Username, l.Role, l.IssuedAt, l.Seen, l.ExpiresAt, l.IdleExpiresAt)
		}
		return c.show(a.out, lines)
	})
}

// A sessionLine is a login that lives as --json prints it.
type sessionLine struct {
	ID            idworker.ID `json:"id"`
	UserID        idworker.ID `json:"user_id"`
	Username      string      `json:"username"`
	Role          string      `json:"role"`
	IssuedAt      audit.Time  `json:"issued_at"`
	LastSeenAt    audit.Time  `json:"last_seen_at"`
	ExpiresAt     audit.Time  `json:"expires_at"`
	IdleExpiresAt audit.Time  `json:"idle_expires_at"`
}

func sessionLineOf(id, user idworker.ID, name, role string, issued, seen, expires, idleExpires time.Time) sessionLine {
	return sessionLine{
		id, user, name, role, audit.Time{Time: issued}, audit.Time{Time: seen}, audit.Time{Time: expires}, audit.Time{Time: idleExpires},
	}
}

func (c sessionList) show(out io.Writer, lines []sessionLine) error {
	return show(out, c.JSON, lines, func(w io.Writer) {
		_, _ = fmt.Fprintln(w, "ID\tUSERNAME\tROLE\tISSUED\tLAST SEEN\tEXPIRES")
		for _, l := range lines {
			ends := l.ExpiresAt
			if l.IdleExpiresAt.Before(ends.Time) {
				ends = l.IdleExpiresAt
			}
			_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", l.ID, printable(l.Username), printable(l.Role),
				l.IssuedAt.Format(time.RFC3339), l.LastSeenAt.Format(time.RFC3339), ends.Format(time.RFC3339))
		}
	})
}

// find pages on until there are as many as were asked for, or no more.
func (c sessionList) find(ctx context.Context, o *office) (found []admin.Login, err error) {
	if c.User != "" {
		u, err := o.find(ctx, c.User)
		if err != nil {
			return nil, err
		}
		person, err := o.Users.Get(ctx, u.ID)
		if err == nil && person.Login.ID != 0 {
			found = append(found, person.Login)
		}
		return found, err
	}
	for before := idworker.ID(0); len(found) < c.Limit; {
		page, err := o.Sessions.List(ctx, before, min(c.Limit-len(found), 500))
		if err != nil {
			return nil, err
		}
		found = append(found, page.Logins...)
		if before = page.Next; before == 0 {
			break
		}
	}
	return found, nil
}

type sessionEnd struct {
	because
	ID idworker.ID `arg:"" help:"The ID of the login, as session list shows it."`
}

func (c sessionEnd) Run(a *app) error {
	return a.withDesk(run.OpenExisting, func(ctx context.Context, o *office) error {
		ended, err := o.Sessions.End(ctx, operator(), c.ID, c.Reason)
		if errors.Is(err, session.ErrNotFound) {
			return errNoLogin(c.ID, "flakepass")
		}
		return o.over(a.out, ended, err)
	})
}

// errNoLogin says where those are that live. command is what a person types before
// session.
func errNoLogin(id idworker.ID, command string) error {
	return fmt.Errorf("no login %s is known; `%s session list` shows those that live", id, command)
}
