package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apiclient "github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
)

type remoteUser struct {
	Add     remoteUserAdd     `cmd:"" help:"Add a user."`
	List    remoteUserList    `cmd:"" help:"List all users, in the order in which they came."`
	Role    remoteUserRole    `cmd:"" help:"Give a user another role, and end the login."`
	Disable remoteUserDisable `cmd:"" help:"Keep a user from logging in, and end the login."`
	Enable  remoteUserEnable  `cmd:"" help:"Let a disabled user log in again."`
	Reset   remoteUserReset   `cmd:"" help:"Give a user a one-time link to set a password, or take it back."`
	Links   remoteUserLinks   `cmd:"" help:"List the one-time links that work now, or take back all that a user gave out."`
	Logout  remoteUserLogout  `cmd:"" help:"End a user's login."`

	SecondFactor remoteUserSecondFactor `cmd:"" help:"Remove a second factor that was lost."`
}

type remoteUserAdd struct{ userAdd }

func (c remoteUserAdd) Run(a *app) error {
	if c.Invite {
		return c.invite(a)
	}
	text, asked := "", false // once, though this may run twice
	return a.remotely(func(ctx context.Context, s counter) (err error) {
		if !asked {
			if text, err = a.newPassword(c.PasswordStdin); err != nil {
				return err
			}
			asked = true
		}
		u, err := s.CreateUser(ctx, apiclient.NewUser{Username: c.Name, Password: apiclient.NewPassword(text), Role: c.Role, Reason: c.Reason})
		if errors.Is(err, apiclient.UsernameTaken) {
			return errTaken(c.Name, "flakepass remote")
		}
		if err != nil {
			return err
		}
		return added(a.out, u.Username, account.Role(u.Role))
	})
}

type remoteUserList struct{ userList }

func (c remoteUserList) Run(a *app) error {
	return a.remotely(func(ctx context.Context, s counter) error {
		lines := []userLine{}
		for u, err := range s.Users(ctx, "") {
			if err != nil {
				return err
			}
			l := userLine{ID: idworker.ID(u.ID), Username: u.Username, Role: account.Role(u.Role), HasFactor: u.HasFactor, CreatedAt: audit.Time{Time: u.CreatedAt}}
			if !u.DisabledAt.IsZero() {
				l.DisabledAt = &audit.Time{Time: u.DisabledAt}
			}
			lines = append(lines, l)
		}
		slices.Reverse(lines) // the server lists the newest first
		return c.show(a.out, lines)
	})
}

type remoteUserRole struct{ userRole }

func (c remoteUserRole) Run(a *app) error {
	return a.changeThere(c.Name, apiclient.UserChange{Role: &c.Role, Reason: c.Reason}, saysRole)
}

type remoteUserDisable struct{ userDisable }

func (c remoteUserDisable) Run(a *app) error {
	yes := true
	return a.changeThere(c.Name, apiclient.UserChange{Disabled: &yes, Reason: c.Reason}, saysDisabled)
}

type remoteUserEnable struct{ userEnable }

func (c remoteUserEnable) Run(a *app) error {
	no := false
	return a.changeThere(c.Name, apiclient.UserChange{Disabled: &no, Reason: c.Reason}, saysEnabled)
}

// changeThere changes a user of a server, and says what came of it, and of the
// login.
func (a *app) changeThere(name string, to apiclient.UserChange, says func(account.User) string) error {
	return a.remotely(func(ctx context.Context, s counter) error {
		before, err := s.find(ctx, name)
		if err != nil {
			return err
		}
		made, err := s.ChangeUser(ctx, before.ID, to)
		if errors.Is(err, apiclient.LastAdmin) {
			return errLastAdmin(before.Username, "flakepass remote")
		}
		if err != nil {
			return err
		}
		u := account.User{Username: before.Username, Role: account.Role(before.Role)}
		if to.Role != nil {
			u.Role = account.Role(*to.Role)
		}
		_, _ = fmt.Fprintln(a.out, says(u))
		if made.Person != nil && made.Person.Session != nil || before.Session == nil && to.Disabled != nil && !*to.Disabled {
			return nil // nothing had to change, and the login goes on; or whoever was disabled had none
		}
		return a.overThere(before.Session, made.Within)
	})
}

// overThere says which login has ended.
func (a *app) overThere(s *apiclient.Session, within time.Duration) error {
	if s == nil {
		_, err := fmt.Fprintln(a.out, "there was no login to end")
		return err
	}
	_, err := fmt.Fprintf(a.out, "login %s ended, %s\n", s.ID, everywhere(within))
	return err
}

type remoteUserLogout struct {
	because
	Name string `arg:"" help:"The username."`
}

func (c remoteUserLogout) Run(a *app) error {
	return a.remotely(func(ctx context.Context, s counter) error {
		u, err := s.find(ctx, c.Name)
		if err != nil {
			return err
		}
		within, err := s.LogoutUser(ctx, u.ID, c.Reason)
		if err != nil {
			return err
		}
		return a.overThere(u.Session, within)
	})
}
