package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/server/config"
	"github.com/flakepass/flakepass/internal/server/run"
	"github.com/flakepass/flakepass/internal/server/telemetry"
	"github.com/flakepass/flakepass/internal/store/redistier"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// An office is what the commands on users and logins work with: the database
// itself, and Redis, if there is one, to tell the running instances at once.
type office struct {
	*run.OperatorDesk
	cfg   config.Config
	log   *slog.Logger
	db    *sqlstore.DB
	known *sqlstore.Users
	tells bool // there is something to tell them by
}

// An opener opens the database, as far as its command may change it.
type opener func(context.Context, config.Config, *slog.Logger) (*sqlstore.DB, error)

// withOffice is for a command that looks only, or looks before it decides whether
// to change anything. One that changes users or logins says by whom in the
// record, and mints the number of its entry: it takes withDesk. One that makes a
// user mints under a worker number of its own, or not at all: it takes withMint.
func (a *app) withOffice(open opener, f func(ctx context.Context, o *office) error) error {
	return a.office(open, nil, f)
}

func (a *app) withDesk(open opener, f func(ctx context.Context, o *office) error) error {
	return a.office(open, run.OpenEventIDs, f)
}

func (a *app) withMint(open opener, f func(ctx context.Context, o *office) error) error {
	return a.office(open, run.OpenIDs, f)
}

// A minter opens what mints IDs for a command, until close.
type minter func(context.Context, config.Config, *sqlstore.DB, *slog.Logger) (ids audit.IDs, closeIDs func(), err error)

func (a *app) office(open opener, mint minter, f func(ctx context.Context, o *office) error) error {
	cfg, err := a.load()
	if err != nil {
		return err
	}
	log := telemetry.NewLog(a.errs, cfg.LogFormat, cfg.LogLevel)
	run.LogRedis(log)
	db, err := open(a.ctx, cfg, log)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	common, err := run.Shared(a.ctx, cfg, db, &sqlstore.Sessions{DB: db}, redistier.Options{Log: log})
	if err != nil {
		return err
	}
	defer common.Close()
	rule, err := policy.NewLive(a.ctx, &sqlstore.Settings{DB: db})
	if err != nil {
		return err
	}
	now, err := db.Clock(a.ctx)
	if err != nil {
		return err
	}
	read := time.Now()
	clock := func() time.Time { return now.Add(time.Since(read)) }
	ctx, ids, hasher := a.ctx, audit.IDs(nil), (*account.Hasher)(nil)
	if mint != nil {
		if hasher, err = run.NewHasher(cfg, account.Here{}); err != nil {
			return err
		}
		var closeIDs func()
		if ids, closeIDs, err = mint(ctx, cfg, db, log); err != nil {
			return err
		}
		defer closeIDs()
	}
	return f(ctx, &office{
		OperatorDesk: run.NewOperatorDesk(db, common.Store, rule, hasher, ids, clock),
		cfg:          cfg, log: log, db: db, known: &sqlstore.Users{DB: db}, tells: !cfg.Redis.IsZero(),
	})
}

// withUser is withDesk for a command about one user.
func (a *app) withUser(name string, f func(ctx context.Context, o *office, u account.User) error) error {
	return a.withDesk(run.OpenExisting, func(ctx context.Context, o *office) error {
		u, err := o.user(ctx, name)
		if err != nil {
			return err
		}
		return f(ctx, o, u)
	})
}

// user looks a user up by the name as a person types it.
func (o *office) user(ctx context.Context, name string) (account.User, error) {
	normal, err := account.NormalizeUsername(name)
	if err != nil {
		return account.User{}, err
	}
	u, err := o.known.ByUsername(ctx, normal)
	if errors.Is(err, account.ErrNotFound) {
		return u, fmt.Errorf("no user %q; `flakepass user list` shows all", normal)
	}
	return u, err
}

// refuseStolen makes o refuse stolen passwords, until closeList. It is for the
// commands that set one: the others must not need the list.
func (o *office) refuseStolen() (closeList func(), err error) {
	o.Users.Breached, closeList, err = run.OpenBreached(o.cfg, o.log, nil)
	return closeList, err
}
