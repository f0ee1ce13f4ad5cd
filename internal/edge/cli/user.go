package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/api/wire"
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
	Role    userRole    `cmd:"" help:"Give a user another role, and end all logins of the user."`
	Disable userDisable `cmd:"" help:"Keep a user from logging in, and end all logins of the user."`
	Enable  userEnable  `cmd:"" help:"Let a disabled user log in again."`
	Rename  userRename  `cmd:"" help:"Give a user another username. No login ends."`
	Alias   userAlias   `cmd:"" help:"Let a user log in with a mail address or phone number, too."`
	Passwd  userPasswd  `cmd:"" help:"Set a user's password, and end all logins of the user."`
	Reset   userReset   `cmd:"" help:"Give a user a one-time link to set a password, or take it back."`
	Links   userLinks   `cmd:"" help:"List the one-time links that work now, or take back all that a user gave out."`
	Logout  userLogout  `cmd:"" help:"End a user's logins, or everybody's."`
	Delete  userDelete  `cmd:"" help:"Delete a user, and end all logins of the user."`

	Import userImport `cmd:"" help:"Add the users of another system, with the hashes of their passwords."`
	Export userExport `cmd:"" help:"Print all users, as import takes them."`

	SecondFactor userSecondFactor `cmd:"" help:"Remove a second factor that was lost; encrypt the secrets of all under a new key."`
}

// because is the flag of every command that leaves an entry in the record.
type because struct {
	Reason string `help:"Why, for the record: at most 1000 characters." placeholder:"TEXT"`
}

type userAdd struct {
	because
	Name          string `arg:"" help:"The username."`
	Role          string `help:"One of ${enum}." enum:"user,service,admin" default:"user"`
	PasswordStdin bool   `help:"Read the password from standard input instead of asking for it." xor:"first"`
	Invite        bool   `help:"Ask for no password: print a one-time link with which the user sets it." xor:"first"`
	For           *span  `help:"How long the link of --invite works: 10m to 24h; 1h without it." placeholder:"DURATION"`
}

func (c userAdd) Validate() error {
	if c.For != nil && !c.Invite {
		return errors.New("--for is for the link of --invite")
	}
	return checkLife(c.For)
}

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
	here := func(f func(ctx context.Context, l *local) error) error { return a.local(orMake, run.OpenIDs, f) }
	return a.at(here, func(ctx context.Context, b backend) error {
		made, err := c.add(ctx, b, ask)
		if either(err, account.ErrExists, client.UsernameTaken) {
			return taken(ctx, b, fmt.Sprintf("the username %q", c.Name), c.Name)
		}
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.out, "user %q added, role %s\n", made.Username, printable(made.Role))
		if c.Invite { // also after an error, which then says what was made
			err = errors.Join(err, given(a.out, b, made.Username, made.Reset))
		}
		return err
	})
}

func (c userAdd) add(ctx context.Context, b backend, ask func() (string, error)) (made client.Invited, err error) {
	u := client.NewUser{Username: c.Name, Role: c.Role, Reason: c.Reason}
	if c.Invite {
		return b.accounts.InviteUser(ctx, u, life(c.For))
	}
	password, err := ask()
	if err == nil {
		made.User, err = b.accounts.add(ctx, u, password)
	}
	return made, err
}

type userPasswd struct {
	named
	PasswordStdin bool `help:"Read the password from standard input instead of asking for it."`
}

func (c userPasswd) Run(a *app) error {
	text, err := a.newPassword(c.PasswordStdin)
	if err != nil {
		return err
	}
	return a.toAct(func(ctx context.Context, l *local) error {
		u, err := l.user(ctx, c.Name)
		if err != nil {
			return err
		}
		closeList, err := l.refuseStolen()
		if err != nil {
			return err
		}
		defer closeList()
		ended, err := l.operators.Users.SetPassword(ctx, commandActor(), u.ID, account.NewPassword(text), c.Reason)
		if errors.Is(err, account.ErrStale) {
			return fmt.Errorf("the password of %q was changed meanwhile; nothing was changed now, try again", u.Username)
		}
		if session.Done(err) {
			_, _ = fmt.Fprintf(a.out, "password of %q changed\n", u.Username)
		}
		return a.say(l.over(ended, err))
	})
}

// onDevice is the flag of commands that choose logins by the device.
type onDevice struct {
	Class *string `name:"device-class" help:"Only those on devices of this class." placeholder:"CLASS"`
}

// Validate is called by kong. An empty class, as of a variable that is not set, is not all.
func (d onDevice) Validate() error {
	if d.Class != nil && !policy.IsClass(*d.Class) {
		return errors.New("--device-class is a word such as phone or web")
	}
	return nil
}

// class is empty for all.
func (d onDevice) class() string {
	if d.Class == nil {
		return ""
	}
	return *d.Class
}

type userLogout struct {
	because
	onDevice
	Name      string `arg:"" optional:"" help:"The username, or an alias."`
	Everybody bool   `help:"End every login that has begun so far."`
	Yes       bool   `help:"Do not ask, with --everybody."`
}

func (c userLogout) Validate() error {
	if c.Everybody == (c.Name != "") {
		return errors.New("say whose login to end: a username, or --everybody")
	}
	if c.Everybody && c.Class != nil {
		return errors.New("--device-class is for the logins of one user")
	}
	return c.onDevice.Validate()
}

func (c userLogout) Run(a *app) error {
	if c.Everybody {
		return c.everybody(a)
	}
	return userLogoutOne{c.because, c.onDevice, c.Name}.Run(a)
}

// userLogoutOne is what a server elsewhere has, where logout-all is a command.
type userLogoutOne struct {
	because
	onDevice
	Name string `arg:"" help:"The username, or an alias."`
}

func (c userLogoutOne) Run(a *app) error {
	return a.acts(ofUser(c.Name, func(ctx context.Context, b backend, u wire.Person) error {
		return a.say(b.sessions.logout(ctx, u, client.LogoutHow{DeviceClass: c.class(), Reason: c.Reason}))
	}))
}

// everybody raises the global floor, which the instances read from the database. No
// worker number is held while the user is asked.
func (c userLogout) everybody(a *app) error {
	if !c.Yes {
		err := a.toLook(func(_ context.Context, l *local) error {
			return a.confirm("About to end every login in " + run.Place(l.cfg) + ". Everybody has to log in again, and no one-time link works any more, of invitations neither.")
		})
		if err != nil {
			return err
		}
	}
	return a.toAct(func(ctx context.Context, l *local) error {
		all, err := l.operators.Sessions.EndAll(ctx, commandActor(), c.Reason)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.out, "every login up to %s ended%s, within %v on every instance; no one-time link of before works\n",
			all.Floor, lived((*wire.Estimate)(all.Lived)), l.cfg.RevocationBound)
		return err
	})
}

// lived is how many logins did, as a person reads it.
func lived(e *wire.Estimate) string {
	switch {
	case e == nil:
		return ""
	case e.Error == 0:
		return fmt.Sprintf(", of which %d lived", e.Count)
	}
	return fmt.Sprintf(", of which %d lived (give or take %d)", e.Count, e.Error)
}
