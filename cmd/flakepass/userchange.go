package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/flakepass/flakepass/internal/account"
	"github.com/flakepass/flakepass/internal/admin"
)

type userRole struct {
	because
	Name string `arg:"" help:"The username."`
	Role string `arg:"" help:"One of ${enum}." enum:"user,service,admin"`
}

func (c userRole) Run(a *app) error {
	role := account.Role(c.Role)
	return a.change(c.Name, admin.UserChange{Role: &role, Reason: c.Reason}, func(u account.User) string {
		return fmt.Sprintf("user %q has the role %s", u.Username, u.Role)
	})
}

type userDisable struct {
	because
	Name string `arg:"" help:"The username."`
}

func (c userDisable) Run(a *app) error {
	yes := true
	return a.change(c.Name, admin.UserChange{Disabled: &yes, Reason: c.Reason}, func(u account.User) string {
		return fmt.Sprintf("user %q disabled", u.Username)
	})
}

type userEnable struct {
	because
	Name string `arg:"" help:"The username."`
}

func (c userEnable) Run(a *app) error {
	no := false
	return a.change(c.Name, admin.UserChange{Disabled: &no, Reason: c.Reason}, func(u account.User) string {
		return fmt.Sprintf("user %q enabled", u.Username)
	})
}

// change changes a user and says what came of it, and of the login.
func (a *app) change(name string, c admin.UserChange, says func(account.User) string) error {
	return a.withUser(name, func(ctx context.Context, o *office, u account.User) error {
		person, ended, err := o.users.Change(ctx, u.ID, c)
		if errors.Is(err, account.ErrLastAdmin) {
			return fmt.Errorf("%q is the last admin who is enabled; make somebody else one first: `flakepass user role NAME admin`", u.Username)
		}
		if done(err) {
			_, _ = fmt.Fprintln(a.out, says(person.User))
		}
		switch {
		case !done(err):
		case person.Login.ID != 0:
			return nil // nothing had to change, and the login goes on
		case ended.ID == 0 && c.Disabled != nil && !*c.Disabled:
			return nil // whoever was disabled had none
		}
		return o.over(a.out, ended, err)
	})
}
