package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
)

type userList struct {
	JSON bool `help:"Print JSON."`
}

// A userLine is a user as --json prints it.
type userLine struct {
	ID         idworker.ID  `json:"id"`
	Username   string       `json:"username"`
	Role       account.Role `json:"role"`
	HasFactor  bool         `json:"second_factor"`
	DisabledAt *audit.Time  `json:"disabled_at"`
	CreatedAt  audit.Time   `json:"created_at"`
}

func userLineOf(id idworker.ID, name string, role account.Role, hasFactor bool, created, disabled time.Time) userLine {
	l := userLine{ID: id, Username: name, Role: role, HasFactor: hasFactor, CreatedAt: audit.Time{Time: created}}
	if !disabled.IsZero() {
		l.DisabledAt = &audit.Time{Time: disabled}
	}
	return l
}

func (c userList) Run(a *app) error {
	return a.looks(func(ctx context.Context, p place) error {
		lines, err := p.users.list(ctx)
		if err != nil {
			return err
		}
		return c.show(a.out, lines)
	})
}

func (c userList) show(out io.Writer, lines []userLine) error {
	return show(out, c.JSON, lines, func(w io.Writer) {
		_, _ = fmt.Fprintln(w, "ID\tUSERNAME\tROLE\tSTATE\tCREATED")
		for _, l := range lines {
			state := "enabled"
			if l.DisabledAt != nil {
				state = "disabled " + l.DisabledAt.Format(time.RFC3339)
			}
			_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", l.ID, printable(l.Username), printable(string(l.Role)), state, l.CreatedAt.Format(time.RFC3339))
		}
	})
}
