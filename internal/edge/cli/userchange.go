package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/admin"
)

type userRole struct {
	because
	Name string `arg:"" help:"The username."`
	Role string `arg:"" help:"One of ${enum}." enum:"user,service,admin"`
}

func (c userRole) Run(a *app) error {
	role := account.Role(c.Role)
	return a.change(c.Name, admin.UserChange{Role: &role, Reason: c.Reason}, saysRole)
}

type userDisable struct {
	because
	Name string `arg:"" help:"The username."`
}

func (c userDisable) Run(a *app) error {
	yes := true
	return a.change(c.Name, admin.UserChange{Disabled: &yes, Reason: c.Reason}, saysDisabled)
}

type userEnable struct {
	because
	Name string `arg:"" help:"The username."`
}

func (c userEnable) Run(a *app) error {
	no := false
	return a.change(c.Name, admin.UserChange{Disabled: &no, Reason: c.Reason}, saysEnabled)
}

// What a change came to, wherever it was made.
func saysRole(u account.User) string {
	return fmt.Sprintf("user %q has the role %s", u.Username, u.Role)
}
func saysDisabled(u account.User) string { return fmt.Sprintf("user %q disabled", u.Username) }
func saysEnabled(u account.User) string  { return fmt.Sprintf("user %q enabled", u.Username) }

// errLastAdmin says what to do first. command is what a person types before user.
func errLastAdmin(name, command string) error {
	return fmt.Errorf("%q is the last admin who is enabled; make somebody else one first: `%s user role NAME admin`", name, command)
}

// change changes a user and says what came of it, and of the login.
func (a *app) change(name string, c admin.UserChange, says func(account.User) string) error {
	return a.withUser(name, func(ctx context.Context, o *office, u account.User) error {
		person, ended, err := o.Users.Change(ctx, operator(), u.ID, c)
		if errors.Is(err, account.ErrLastAdmin) {
			return errLastAdmin(u.Username, "flakepass")
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
