package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/server/run"
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

func (c userList) Run(a *app) error {
	return a.withOffice(run.OpenExisting, func(ctx context.Context, o *office) error {
		const page = 500
		lines := []userLine{}
		for after := idworker.ID(0); ; {
			users, err := o.known.List(ctx, after, page)
			if err != nil {
				return err
			}
			for _, u := range users {
				l := userLine{ID: u.ID, Username: u.Username, Role: u.Role, HasFactor: u.HasSecondFactor(), CreatedAt: audit.Time{Time: u.CreatedAt}}
				if !u.DisabledAt.IsZero() {
					l.DisabledAt = &audit.Time{Time: u.DisabledAt}
				}
				lines = append(lines, l)
				after = u.ID
			}
			if len(users) < page {
				break
			}
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
