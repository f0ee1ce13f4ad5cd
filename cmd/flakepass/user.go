package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/flakepass/flakepass/internal/account"
	"github.com/flakepass/flakepass/internal/config"
	"github.com/flakepass/flakepass/internal/gormstore"
	"github.com/flakepass/flakepass/internal/session"
	"github.com/flakepass/flakepass/internal/session/redistier"
	"github.com/flakepass/flakepass/internal/telemetry"
)

type userCommand struct {
	Add     userAdd     `cmd:"" help:"Add a user."`
	List    userList    `cmd:"" help:"List all users, in the order in which they came."`
	Disable userDisable `cmd:"" help:"Keep a user from logging in, and end the login."`
	Enable  userEnable  `cmd:"" help:"Let a disabled user log in again."`
	Passwd  userPasswd  `cmd:"" help:"Set a user's password, and end the login."`
	Logout  userLogout  `cmd:"" help:"End a user's login, or everybody's."`
}

// An office is what the commands on users work with: the database itself, and
// Redis, if there is one, to tell the running instances at once.
type office struct {
	cfg      config.Config
	log      *slog.Logger
	db       *gormstore.DB
	users    *gormstore.Users
	sessions *gormstore.Sessions
	store    session.Store
}

// An opener opens the database, as far as its command may change it.
type opener func(context.Context, config.Config, *slog.Logger) (*gormstore.DB, error)

func (a *app) withOffice(open opener, f func(ctx context.Context, o *office) error) error {
	cfg, err := a.load()
	if err != nil {
		return err
	}
	log := telemetry.NewLog(a.errs, cfg.LogFormat, cfg.LogLevel)
	logRedis(log)
	db, err := open(a.ctx, cfg, log)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	o := &office{cfg: cfg, log: log, db: db, users: &gormstore.Users{DB: db}, sessions: &gormstore.Sessions{DB: db}}
	common, err := shared(a.ctx, cfg, db, o.sessions, redistier.Options{Log: log})
	if err != nil {
		return err
	}
	defer common.close()
	o.store = common.Store
	return f(a.ctx, o)
}

// withUser is withOffice for a command about one user.
func (a *app) withUser(name string, f func(ctx context.Context, o *office, u account.User) error) error {
	return a.withOffice(openExisting, func(ctx context.Context, o *office) error {
		u, err := o.find(ctx, name)
		if err != nil {
			return err
		}
		return f(ctx, o, u)
	})
}

// find looks a user up by the name as a person types it.
func (o *office) find(ctx context.Context, name string) (account.User, error) {
	normal, err := account.NormalizeUsername(name)
	if err != nil {
		return account.User{}, err
	}
	u, err := o.users.ByUsername(ctx, normal)
	if errors.Is(err, account.ErrNotFound) {
		return u, fmt.Errorf("no user %q; `flakepass user list` shows all", normal)
	}
	return u, err
}

// over tells the instances that a login has ended, and the operator by when
// they know.
func (o *office) over(ctx context.Context, w io.Writer, ended session.Session) error {
	if ended.ID == 0 {
		_, err := fmt.Fprintln(w, "there was no login to end")
		return err
	}
	within := fmt.Sprintf("on every instance as soon as it hears of it, within %v at the latest", o.cfg.RevocationBound)
	if err := o.store.Hear(ctx, ended); err != nil || o.cfg.Redis.IsZero() {
		within = fmt.Sprintf("within %v on every instance", o.cfg.RevocationBound)
	}
	// A row holds a login until a sweep, and the policy may have ended it before.
	if rule, err := (&gormstore.Settings{DB: o.db}).LoadPolicy(ctx); err == nil {
		ended = session.OverBefore(ended, &rule, time.Now())
	}
	if ended.Before {
		_, err := fmt.Fprintf(w, "login %s was over before: %s\n", ended.ID, ended.Ended)
		return err
	}
	_, err := fmt.Fprintf(w, "login %s ended, %s\n", ended.ID, within)
	return err
}

type userAdd struct {
	Name          string `arg:"" help:"The username."`
	Role          string `help:"One of ${enum}." enum:"user,service,admin" default:"user"`
	PasswordStdin bool   `help:"Read the password from standard input instead of asking for it."`
}

func (c userAdd) Run(a *app) error {
	p, err := a.password(c.PasswordStdin)
	if err != nil {
		return err
	}
	orMake := func(ctx context.Context, cfg config.Config, log *slog.Logger) (*gormstore.DB, error) {
		return openOrMake(ctx, cfg, log, a.out)
	}
	return a.withOffice(orMake, func(ctx context.Context, o *office) error {
		hasher, err := newHasher(o.cfg)
		if err != nil {
			return err
		}
		ids, closeLender, err := openWorker(ctx, o.cfg, o.db, o.log, false, nil)
		if err != nil {
			return err
		}
		defer closeLender()
		defer func() { _ = ids.Close(context.WithoutCancel(ctx)) }()
		s := &account.Service{Users: o.users, Hasher: hasher, IDs: ids, Now: time.Now}
		u, err := s.Register(ctx, c.Name, p, account.Role(c.Role))
		if errors.Is(err, account.ErrExists) {
			return fmt.Errorf("the username %q is taken; choose another, or see `flakepass user list`", c.Name)
		}
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.out, "user %q added, role %s\n", u.Username, u.Role)
		return err
	})
}

type userDisable struct {
	Name string `arg:"" help:"The username."`
}

func (c userDisable) Run(a *app) error {
	return a.withUser(c.Name, func(ctx context.Context, o *office, u account.User) error {
		ended, err := o.users.Disable(ctx, u.ID, time.Now())
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(a.out, "user %q disabled\n", u.Username)
		return o.over(ctx, a.out, ended)
	})
}

type userEnable struct {
	Name string `arg:"" help:"The username."`
}

func (c userEnable) Run(a *app) error {
	return a.withUser(c.Name, func(ctx context.Context, o *office, u account.User) error {
		if err := o.users.Enable(ctx, u.ID); err != nil {
			return err
		}
		_, err := fmt.Fprintf(a.out, "user %q enabled\n", u.Username)
		return err
	})
}

type userPasswd struct {
	Name          string `arg:"" help:"The username."`
	PasswordStdin bool   `help:"Read the password from standard input instead of asking for it."`
}

func (c userPasswd) Run(a *app) error {
	p, err := a.password(c.PasswordStdin)
	if err != nil {
		return err
	}
	return a.withUser(c.Name, func(ctx context.Context, o *office, u account.User) error {
		hasher, err := newHasher(o.cfg)
		if err != nil {
			return err
		}
		hash, err := (&account.Service{Users: o.users, Hasher: hasher}).NewHash(ctx, u.Username, p)
		if err != nil {
			return err
		}
		ended, err := o.users.ChangePassword(ctx, u.ID, u.PasswordVersion, hash)
		if errors.Is(err, account.ErrStale) {
			return fmt.Errorf("somebody else has just changed the password of %q; nothing was changed now, try again", u.Username)
		}
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(a.out, "password of %q changed\n", u.Username)
		return o.over(ctx, a.out, ended)
	})
}

type userLogout struct {
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
		return a.withOffice(openExisting, func(ctx context.Context, o *office) error { return c.everybody(ctx, a, o) })
	}
	return a.withUser(c.Name, func(ctx context.Context, o *office, u account.User) error {
		ended, err := o.sessions.End(ctx, session.Ending{UserID: u.ID, Reason: session.Revoked})
		if err != nil && !errors.Is(err, session.ErrNotFound) {
			return err
		}
		return o.over(ctx, a.out, ended)
	})
}

// everybody raises the global floor, of which the instances learn from the
// database.
func (c userLogout) everybody(ctx context.Context, a *app, o *office) error {
	if !c.Yes {
		if err := a.confirm("About to end every login in " + place(o.cfg) + ". Everybody has to log in again."); err != nil {
			return err
		}
	}
	floor, err := (&gormstore.Settings{DB: o.db}).EndAll(ctx, time.Now())
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "every login up to %s ended, within %v on every instance\n", floor, o.cfg.RevocationBound)
	return err
}
