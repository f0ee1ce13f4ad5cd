package cli

import (
	"context"

	"github.com/flakepass/flakepass/api/flakepass"
)

type remoteUser struct {
	Add     userAdd          `cmd:"" help:"Add a user."`
	List    userList         `cmd:"" help:"List all users, in the order in which they came."`
	Role    userRole         `cmd:"" help:"Give a user another role, and end the login."`
	Disable userDisable      `cmd:"" help:"Keep a user from logging in, and end the login."`
	Enable  userEnable       `cmd:"" help:"Let a disabled user log in again."`
	Reset   userReset        `cmd:"" help:"Give a user a one-time link to set a password, or take it back."`
	Links   userLinks        `cmd:"" help:"List the one-time links that work now, or take back all that a user gave out."`
	Logout  remoteUserLogout `cmd:"" help:"End a user's login."`

	SecondFactor remoteUserSecondFactor `cmd:"" help:"Remove a second factor that was lost."`
}

type remoteUserSecondFactor struct {
	Remove userSecondFactorRemove `cmd:"" help:"Remove the second factor of a user who has lost it, and end the login."`
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
		within, err := s.LogoutUser(ctx, flakepass.ID(u.id), c.Reason)
		return a.say(overThere(u.login, within), err)
	})
}
