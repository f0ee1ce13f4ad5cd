package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/server/config"
	"github.com/flakepass/flakepass/internal/server/run"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

type userCommand struct {
	Add     userAdd     `cmd:"" help:"Add a user."`
	List    userList    `cmd:"" help:"List all users, in the order in which they came."`
	Role    userRole    `cmd:"" help:"Give a user another role, and end the login."`
	Disable userDisable `cmd:"" help:"Keep a user from logging in, and end the login."`
	Enable  userEnable  `cmd:"" help:"Let a disabled user log in again."`
	Passwd  userPasswd  `cmd:"" help:"Set a user's password, and end the login."`
	Reset   userReset   `cmd:"" help:"Give a user a one-time link to set a password, or take it back."`
	Links   userLinks   `cmd:"" help:"List the one-time links that work now, or take back all that a user gave out."`
	Logout  userLogout  `cmd:"" help:"End a user's login, or everybody's."`

	SecondFactor userSecondFactor `cmd:"" help:"Remove a second factor that was lost; encrypt the secrets of all under a new key."`
}

// because is the flag of every command that leaves an entry in the record.
type because struct {
	Reason string `help:"Why, for the record: at most 1000 characters." placeholder:"TEXT"`
}

type userAdd struct {
	because
	Name          string        `arg:"" help:"The username."`
	Role          string        `help:"One of ${enum}." enum:"user,service,admin" default:"user"`
	PasswordStdin bool          `help:"Read the password from standard input instead of asking for it." xor:"first"`
	Invite        bool          `help:"Ask for no password: print a one-time link with which the user sets it." xor:"first"`
	For           time.Duration `help:"How long the link of --invite works: 10m to 24h." default:"1h" placeholder:"DURATION"`
}

// Validate is called by kong.
func (c userAdd) Validate() error { return checkLife(c.For) }

func (c userAdd) Run(a *app) error {
	// Once, though what a server wants a password for is tried twice; and here before a
	// number is borrowed.
	ask := sync.OnceValues(func() (string, error) { return a.newPassword(c.PasswordStdin) })
	if !c.Invite && !a.remote {
		if _, err := ask(); err != nil {
			return err
		}
	}
	orMake := func(ctx context.Context, cfg config.Config, log *slog.Logger) (*sqlstore.DB, error) {
		return run.OpenOrMake(ctx, cfg, log, a.out)
	}
	return a.at(a.withMint, orMake, func(ctx context.Context, p place) error {
		u, r, err := c.add(ctx, p, ask)
		if errors.Is(err, account.ErrExists) {
			return errTaken(c.Name, p.command)
		}
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.out, "user %q added, role %s\n", u.Username, printable(string(u.Role)))
		if err == nil && c.Invite {
			err = given(a.out, u.Username, r)
		}
		return err
	})
}

func (c userAdd) add(ctx context.Context, p place, ask func() (string, error)) (u account.User, r shownReset, err error) {
	if c.Invite {
		return p.adding.invite(ctx, c)
	}
	password, err := ask()
	if err == nil {
		u, err = p.adding.add(ctx, c, password)
	}
	return u, r, err
}

// errTaken says that a name is. command is what a person types before user.
func errTaken(name, command string) error {
	return fmt.Errorf("the username %q is taken; choose another, or see `%s user list`", name, command)
}

type userPasswd struct {
	because
	Name          string `arg:"" help:"The username."`
	PasswordStdin bool   `help:"Read the password from standard input instead of asking for it."`
}

func (c userPasswd) Run(a *app) error {
	p, err := a.password(c.PasswordStdin)
	if err != nil {
		return err
	}
	return a.withUser(c.Name, func(ctx context.Context, o *office, u account.User) error {
		closeList, err := o.refuseStolen()
		if err != nil {
			return err
		}
		defer closeList()
		ended, err := o.Users.SetPassword(ctx, commandActor(), u.ID, p, c.Reason)
		if errors.Is(err, account.ErrStale) {
			return fmt.Errorf("somebody else has just changed the password of %q; nothing was changed now, try again", u.Username)
		}
		if session.Done(err) {
			_, _ = fmt.Fprintf(a.out, "password of %q changed\n", u.Username)
		}
		return a.say(o.over(ended, err))
	})
}

type userLogout struct {
	because
	Name      string `arg:"" optional:"" help:"The username."`
	Everybody bool   `help:"End every login that has begun so far."`
	Yes       bool   `help:"Do not ask, with --everybody."`
}

// Validate is called by kong.
func (c userLogout) Validate() error {
	if c.Everybody == (c.Name != "") {
		return errors.New("say whose login to end: a username, or --everybody")
	}
	return nil
}

func (c userLogout) Run(a *app) error {
	if c.Everybody {
		return c.everybody(a)
	}
	return a.withUser(c.Name, func(ctx context.Context, o *office, u account.User) error {
		return a.say(o.over(o.Users.Logout(ctx, commandActor(), u.ID, c.Reason)))
	})
}

// everybody raises the global floor, of which the instances learn from the
// database. No number is borrowed while a person thinks.
func (c userLogout) everybody(a *app) error {
	if !c.Yes {
		err := a.withOffice(run.OpenExisting, func(_ context.Context, o *office) error {
			return a.confirm("About to end every login in " + run.Place(o.cfg) + ". Everybody has to log in again.")
		})
		if err != nil {
			return err
		}
	}
	return a.withDesk(run.OpenExisting, func(ctx context.Context, o *office) error {
		all, err := o.Sessions.EndAll(ctx, commandActor(), c.Reason)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.out, "every login up to %s ended%s, within %v on every instance\n",
			all.Floor, lived(all.Lived), o.cfg.RevocationBound)
		return err
	})
}

// lived is how many logins did, as a person reads it.
func lived(e *policy.Estimate) string {
	switch {
	case e == nil:
		return ""
	case e.Error == 0:
		return fmt.Sprintf(", of which %d lived", e.Count)
	}
	return fmt.Sprintf(", of which %d lived (give or take %d)", e.Count, e.Error)
}
