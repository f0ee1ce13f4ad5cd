package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/flakepass/flakepass/api/wire"
)

type userList struct {
	JSON bool `help:"Print JSON."`
}

// A userLine is a user as --json prints it: as the API has it, and with null for one
// that is not disabled.
type userLine struct {
	wire.User
	DisabledAt *wire.Time `json:"disabled_at"`
}

func (c userList) Run(a *app) error {
	return a.looks(func(ctx context.Context, b backend) error {
		users, err := collect(b.users.Users(ctx, ""))
		if err != nil {
			return err
		}
		slices.Reverse(users) // the newest came first
		return c.show(a.out, users)
	})
}

func (c userList) show(out io.Writer, users []wire.User) error {
	lines := make([]userLine, len(users))
	for i, u := range users {
		if lines[i].User = u; !u.DisabledAt.IsZero() {
			lines[i].DisabledAt = &u.DisabledAt
		}
	}
	return show(out, c.JSON, lines, func(w io.Writer) {
		head := "ID\tUSERNAME\tROLE\tSTATE\tCREATED"
		external := slices.ContainsFunc(users, func(u wire.User) bool { return u.ExternalID != "" })
		if external {
			head += "\tEXTERNAL ID"
		}
		_, _ = fmt.Fprintln(w, head)
		for _, u := range users {
			state := "enabled"
			if !u.DisabledAt.IsZero() {
				state = "disabled " + u.DisabledAt.Format(time.RFC3339)
			}
			if !u.DeletionAskedAt.IsZero() {
				state += ", deletion asked for " + u.DeletionAskedAt.Format(time.RFC3339)
			}
			_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s", u.ID, printable(u.Username), printable(u.Role), state, u.CreatedAt.Format(time.RFC3339))
			if external {
				_, _ = fmt.Fprint(w, "\t", printable(u.ExternalID))
			}
			_, _ = fmt.Fprintln(w)
		}
	})
}
