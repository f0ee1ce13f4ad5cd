package cli

import (
	"context"
	"fmt"

	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/idworker"
)

// deletingVerbs delete a user. ended is as in userVerbs. deleteUser returns
// account.ErrLastAdmin or client.LastAdmin if no admin would be left.
type deletingVerbs interface {
	deleteUser(ctx context.Context, u wire.Person, reason string) (ended string, err error)
}

type userDelete struct {
	named
	Yes bool `help:"Do not ask for the username once more."`
}

// Run deletes a user after the name was typed once more.
func (c userDelete) Run(a *app) error {
	if !c.Yes {
		if err := a.looks(ofUser(c.Name, func(ctx context.Context, b backend, u wire.Person) error {
			// The name, as a confirmation of what cannot be undone.
			return a.confirmBy(fmt.Sprintf("About to delete the user %q, ID %s. It cannot be undone.", printable(u.Username), u.ID), "the username", u.Username)
		})); err != nil {
			return err
		}
	}
	return a.acts(ofUser(c.Name, func(ctx context.Context, b backend, u wire.Person) error {
		ended, err := b.deleting.deleteUser(ctx, u, c.Reason)
		if err != nil {
			return b.refused(err, u)
		}
		_, _ = fmt.Fprintf(a.out, "user %q, ID %s, deleted; the name is free after the purge\n", printable(u.Username), u.ID)
		return a.say(ended, nil)
	}))
}

func (l *local) deleteUser(ctx context.Context, u wire.Person, reason string) (string, error) {
	return l.over(l.operators.Users.Delete(ctx, commandActor(), idworker.ID(u.ID), u.Username, reason))
}

func (s remoteServer) deleteUser(ctx context.Context, u wire.Person, reason string) (string, error) {
	within, err := s.DeleteUser(ctx, u.ID, u.Username, reason)
	return endedThere(u, within), err
}
