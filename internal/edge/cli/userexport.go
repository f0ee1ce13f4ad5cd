package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"strconv"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/server/run"
)

type userExport struct {
	because
	WithHashes bool `help:"Print the hashes of the passwords, too. Whoever has them can guess at the passwords."`
	Yes        bool `help:"Do not ask, with --with-hashes."`
}

func (c userExport) Run(a *app) error {
	with := a.toLook
	if c.WithHashes {
		with = a.toAct
		if !c.Yes {
			if err := a.confirm("About to print the password hashes of all users. Whoever has them can guess at the passwords."); err != nil {
				return err
			}
		}
	}
	return with(func(ctx context.Context, l *local) error {
		users, err := run.NewExport(l.db, l.operators.Users.IDs).Users(ctx, commandActor(), c.WithHashes, c.Reason)
		if err != nil {
			return err
		}
		out := bufio.NewWriter(a.out)
		e := json.NewEncoder(out)
		e.SetEscapeHTML(false)
		for u, err := range users {
			if err == nil {
				err = e.Encode(lineOf(&u))
			}
			if err != nil {
				return err
			}
		}
		return out.Flush()
	})
}

// lineOf is a user as import takes it.
func lineOf(u *account.User) importLine {
	return importLine{
		Username: u.Username, ExternalID: u.ExternalID, Aliases: u.Aliases, Hash: u.PasswordHash.Reveal(), Role: string(u.Role), Disabled: u.Disabled(),
		Created: strconv.AppendQuote(nil, u.CreatedAt.Format("2006-01-02T15:04:05.000Z07:00")),
	}
}
