package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/session"
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
	return a.looks(func(ctx context.Context, p place) error {
		lines, err := p.sessions.living(ctx, c.User, c.Limit)
		if err != nil {
			return err
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

type sessionEnd struct {
	because
	ID idworker.ID `arg:"" help:"The ID of the login, as session list shows it."`
}

func (c sessionEnd) Run(a *app) error {
	return a.acts(func(ctx context.Context, p place) error {
		ended, err := p.sessions.end(ctx, c.ID, c.Reason)
		if errors.Is(err, session.ErrNotFound) {
			return errNoLogin(c.ID, p.command)
		}
		return a.say(ended, err)
	})
}

// errNoLogin says where those are that live. command is what a person types before
// session.
func errNoLogin(id idworker.ID, command string) error {
	return fmt.Errorf("no login %s is known; `%s session list` shows those that live", id, command)
}
