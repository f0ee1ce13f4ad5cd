package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/edge/render"
)

func (l *local) ChangeNames(ctx context.Context, id wire.ID, to client.NameChange) (wire.User, error) {
	u, err := l.operators.Users.ChangeNames(ctx, commandActor(), idworker.ID(id), operator.NameChange(to))
	return render.User(&u), err
}

type userRename struct {
	named
	New string `arg:"" help:"The new username."`
}

func (c userRename) Run(a *app) error {
	return a.rename(c.Name, client.NameChange{Username: &c.New, Reason: c.Reason},
		func(was, is *wire.User) string {
			return fmt.Sprintf("user %q is now %q; no login has ended", was.Username, is.Username)
		})
}

type userAlias struct {
	Add    userAliasAdd    `cmd:"" help:"Let a user log in with another mail address or phone number."`
	Remove userAliasRemove `cmd:"" help:"Take a mail address or phone number from a user."`
	List   userAliasList   `cmd:"" help:"List the mail addresses and phone numbers with which a user may log in."`
}

type userAliasAdd struct {
	named
	Alias string `arg:"" help:"The mail address, or the phone number such as +4915112345678."`
}

func (c userAliasAdd) Run(a *app) error {
	return a.rename(c.Name, client.NameChange{AddAliases: []string{c.Alias}, Reason: c.Reason}, aliased)
}

type userAliasRemove struct {
	named
	Alias string `arg:"" help:"The mail address or phone number."`
}

func (c userAliasRemove) Run(a *app) error {
	return a.rename(c.Name, client.NameChange{RemoveAliases: []string{c.Alias}, Reason: c.Reason}, aliased)
}

func aliased(_, is *wire.User) string { return aliasesOf(is) }

// aliasesOf says with what a user may log in beside the username.
func aliasesOf(u *wire.User) string {
	if len(u.Aliases) == 0 {
		return fmt.Sprintf("user %q has no alias", u.Username)
	}
	return fmt.Sprintf("user %q may also log in as %s", u.Username, printable(strings.Join(u.Aliases, ", ")))
}

// taken says that what is asked for, a name, is taken, and by whom or where to look: a list does not show aliases.
func taken(ctx context.Context, b backend, what, name string) error {
	if has, alias := holder(ctx, b, name); alias {
		return fmt.Errorf("%s is taken: it is %s; choose another", what, has)
	}
	return fmt.Errorf("%s is taken; choose another, or see `%s user list`, which does not show who was deleted and is not purged yet", what, b.command)
}

// holder says whose name it is, and whether it is an alias; empty if nobody is found, as of a user who was deleted.
func holder(ctx context.Context, b backend, name string) (has string, alias bool) {
	u, err := b.users.find(ctx, name)
	if err != nil {
		return "", false
	}
	if normal, _ := account.NormalizeLogin(name); normal != u.Username {
		return fmt.Sprintf("an alias of %q", u.Username), true
	}
	return fmt.Sprintf("the username of %q", u.Username), false
}

// rename changes names of a user and says what came of it.
func (a *app) rename(name string, to client.NameChange, says func(was, is *wire.User) string) error {
	return a.acts(ofUser(name, func(ctx context.Context, b backend, u wire.Person) error {
		is, err := b.accounts.ChangeNames(ctx, u.ID, to)
		// A server may give any code as its answer, also one that is about a name nobody asked for.
		switch {
		case to.Username != nil && either(err, account.ErrExists, client.UsernameTaken):
			return taken(ctx, b, "the username", *to.Username)
		case len(to.AddAliases) > 0 && either(err, account.ErrAliasTaken, client.AliasTaken):
			if has, _ := holder(ctx, b, to.AddAliases[0]); has != "" {
				return fmt.Errorf("that name is %s; nothing was changed", has)
			}
			return fmt.Errorf("another user has that name; nothing was changed. It may be one who was deleted and is not purged yet")
		case err != nil:
			return err
		}
		_, err = fmt.Fprintln(a.out, says(&u.User, &is))
		return err
	}))
}

type userAliasList struct {
	Name string `arg:"" help:"The username, or an alias."`
	JSON bool   `help:"Print JSON."`
}

func (c userAliasList) Run(a *app) error {
	return a.looks(ofUser(c.Name, func(ctx context.Context, b backend, u wire.Person) error {
		return show(a.out, c.JSON, append([]string{}, u.Aliases...), func(w io.Writer) { _, _ = fmt.Fprintln(w, aliasesOf(&u.User)) })
	}))
}
