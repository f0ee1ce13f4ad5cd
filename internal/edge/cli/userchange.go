package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/operator"
)

type userRole struct {
	because
	Name string `arg:"" help:"The username."`
	Role string `arg:"" help:"One of ${enum}." enum:"user,service,admin"`
}

func (c userRole) Run(a *app) error {
	role := account.Role(c.Role)
	return a.change(c.Name, operator.UserChange{Role: &role, Reason: c.Reason}, func(name string) string {
		return fmt.Sprintf("user %q has the role %s", name, role)
	})
}

type userDisable struct {
	because
	Name string `arg:"" help:"The username."`
}

func (c userDisable) Run(a *app) error {
	yes := true
	return a.change(c.Name, operator.UserChange{Disabled: &yes, Reason: c.Reason}, func(name string) string { return fmt.Sprintf("user %q disabled", name) })
}

type userEnable struct {
	because
	Name string `arg:"" help:"The username."`
}

func (c userEnable) Run(a *app) error {
	no := false
	return a.change(c.Name, operator.UserChange{Disabled: &no, Reason: c.Reason}, func(name string) string { return fmt.Sprintf("user %q enabled", name) })
}

// errLastAdmin says what to do first. command is what a person types before user.
func errLastAdmin(name, command string) error {
	return fmt.Errorf("%q is the last admin who is enabled; make somebody else one first: `%s user role NAME admin`", name, command)
}

// change changes a user and says what came of it, and of the login.
func (a *app) change(name string, c operator.UserChange, says func(name string) string) error {
	return a.acts(func(ctx context.Context, p place) error {
		u, err := p.users.find(ctx, name)
		if err != nil {
			return err
		}
		ended, err := p.users.change(ctx, u, c)
		if errors.Is(err, account.ErrLastAdmin) {
			return errLastAdmin(u.name, p.command)
		}
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintln(a.out, says(u.name))
		return a.say(ended, nil)
	})
}
