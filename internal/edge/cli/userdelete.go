package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
)

// deletingVerbs delete a user. ended is as in userVerbs. deleteUser returns
// account.ErrLastAdmin or client.LastAdmin if no admin would be left.
type deletingVerbs interface {
	deleteUser(ctx context.Context, u wire.Person, reason string) (ended string, err error)
}

type userDelete struct {
	because
	Name string `arg:"" help:"The username."`
	Yes  bool   `help:"Do not ask for the username once more."`
}

// Run deletes a user after the name was typed once more.
func (c userDelete) Run(a *app) error {
	if !c.Yes {
		if err := a.looks(func(ctx context.Context, b backend) error {
			u, err := b.users.find(ctx, c.Name)
			if err != nil {
				return err
			}
			return a.named(u)
		}); err != nil {
			return err
		}
	}
	return a.acts(func(ctx context.Context, b backend) error {
		u, err := b.users.find(ctx, c.Name)
		if err != nil {
			return err
		}
		ended, err := b.deleting.deleteUser(ctx, u, c.Reason)
		if either(err, account.ErrLastAdmin, client.LastAdmin) {
			return fmt.Errorf("%q is the last admin who is enabled; make another user one first: `%s user role NAME admin`", u.Username, b.command)
		}
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(a.out, "user %q, ID %s, deleted; the name is free after the purge\n", printable(u.Username), u.ID)
		return a.say(ended, nil)
	})
}

// named asks for the name of a user, as a confirmation of what cannot be undone.
func (a *app) named(u wire.Person) error {
	what := fmt.Sprintf("About to delete the user %q, ID %s. It cannot be undone.", printable(u.Username), u.ID)
	if _, ok := a.terminal(); !ok {
		return fmt.Errorf("%s Nothing was changed: there is no terminal to ask for a confirmation. If you are sure, say --yes", what)
	}
	if line, err := a.answer(what + "\nType the username to go on: "); err != nil || line != u.Username {
		return errors.New("not confirmed; nothing was changed")
	}
	return nil
}

func (l *local) deleteUser(ctx context.Context, u wire.Person, reason string) (string, error) {
	return l.over(l.operators.Users.Delete(ctx, commandActor(), idworker.ID(u.ID), u.Username, reason))
}

func (s remoteServer) deleteUser(ctx context.Context, u wire.Person, reason string) (string, error) {
	within, err := s.DeleteUser(ctx, u.ID, u.Username, reason)
	return endedThere(u, within), err
}
