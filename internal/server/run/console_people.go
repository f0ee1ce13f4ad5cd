package run

import (
	"context"
	"errors"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/admin"
	"github.com/flakepass/flakepass/internal/edge/adminui"
)

// consolePeople are the verbs about users, in the words of the console.
type consolePeople struct{ *admin.Users }

func (p consolePeople) Get(ctx context.Context, id idworker.ID) (adminui.Person, error) {
	person, err := p.Users.Get(ctx, id)
	return adminui.Person{User: person.User, Login: adminui.LivingLogin(person.Login)}, err
}

func (p consolePeople) Change(ctx context.Context, id idworker.ID, c adminui.UserChange) error {
	_, _, err := p.Users.Change(ctx, id, admin.UserChange(c))
	if errors.Is(err, account.ErrLastAdmin) {
		return adminui.ErrLastAdmin
	}
	return err
}

// consoleLogins are the verbs about logins, in the words of the console.
type consoleLogins struct{ *admin.Sessions }

func (l consoleLogins) List(ctx context.Context, before idworker.ID, limit int) ([]adminui.LivingLogin, idworker.ID, error) {
	page, err := l.Sessions.List(ctx, before, limit)
	logins := make([]adminui.LivingLogin, len(page.Logins))
	for i := range page.Logins {
		logins[i] = adminui.LivingLogin(page.Logins[i])
	}
	return logins, page.Next, err
}

func (l consoleLogins) End(ctx context.Context, id idworker.ID, reason string) error {
	_, err := l.Sessions.End(ctx, id, reason)
	return err
}

func (l consoleLogins) EndAll(ctx context.Context, reason string) error {
	_, err := l.Sessions.EndAll(ctx, reason)
	return err
}
