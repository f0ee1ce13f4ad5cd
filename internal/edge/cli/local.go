package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"strconv"
	"sync"
	"time"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/server/config"
	"github.com/flakepass/flakepass/internal/server/run"
	"github.com/flakepass/flakepass/internal/server/telemetry"
	"github.com/flakepass/flakepass/internal/store/redisstore"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// A local is what the commands on users and logins work with here: the database
// itself, and Redis, if there is one, to inform the running instances at once.
type local struct {
	operators *run.Operators
	policies  *operator.Policies
	cfg       config.Config
	log       *slog.Logger
	db        *sqlstore.DB
	known     *sqlstore.Users
	publishes bool // Redis is there to publish by
}

// An opener opens the database, as far as its command may change it.
type opener func(context.Context, config.Config, *slog.Logger) (*sqlstore.DB, error)

// toLook is for a command that looks only, or looks before it decides whether
// to change anything. One that changes users or logins writes the actor into
// the record, and mints the ID of its event: it takes toAct. One that makes a
// user mints under a worker number of its own, or not at all: it takes toMint.
func (a *app) toLook(f func(ctx context.Context, l *local) error) error {
	return a.local(run.OpenExisting, nil, f)
}

func (a *app) toAct(f func(ctx context.Context, l *local) error) error {
	return a.local(run.OpenExisting, run.OpenEventIDs, f)
}

func (a *app) toMint(f func(ctx context.Context, l *local) error) error {
	return a.local(run.OpenExisting, run.OpenIDs, f)
}

// A minter opens what mints IDs for a command, until close.
type minter func(context.Context, config.Config, *sqlstore.DB, *slog.Logger) (ids audit.IDs, closeIDs func(), err error)

// with runs f on the database that open opens.
func (a *app) with(open opener, f func(cfg config.Config, db *sqlstore.DB, log *slog.Logger) error) error {
	cfg, err := a.load()
	if err != nil {
		return err
	}
	log := telemetry.NewLog(a.errs, cfg.LogFormat, cfg.LogLevel)
	run.LogRedis(log)
	advise, err := a.asOwner(cfg, log)
	if err != nil {
		return err
	}
	db, err := open(a.ctx, cfg, log)
	if err != nil {
		return advise(err)
	}
	defer func() { _ = db.Close() }()
	return f(cfg, db, log)
}

func (a *app) local(open opener, mint minter, f func(ctx context.Context, l *local) error) error {
	return a.with(open, func(cfg config.Config, db *sqlstore.DB, log *slog.Logger) error {
		common, err := run.Shared(a.ctx, cfg, db, &sqlstore.Sessions{DB: db}, redisstore.Options{Log: log})
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
		run.RecordOverLimit(cfg, db, ids)
		return f(ctx, &local{
			operators: run.NewOperators(db, common.Store, rule, hasher, ids, ids, clock),
			policies:  run.PoliciesOf(db, nil, nil, log),
			cfg:       cfg, log: log, db: db, known: &sqlstore.Users{DB: db}, publishes: !cfg.Redis.IsZero(),
		})
	})
}

// user looks a user up by the name as a person types it: the username, or an alias.
func (l *local) user(ctx context.Context, name string) (account.User, error) {
	normal, err := account.NormalizeLogin(name)
	if err != nil {
		return account.User{}, err
	}
	u, err := l.known.ByName(ctx, normal)
	if errors.Is(err, account.ErrNotFound) || u.Deleted {
		return account.User{}, fmt.Errorf("no user %q; `flakepass user list` shows all", normal)
	}
	return u, err
}

// refuseStolen makes l refuse stolen passwords, until closeList. It is for the
// commands that set one: the others must not need the list.
func (l *local) refuseStolen() (closeList func(), err error) {
	l.operators.Users.Making.Breached, closeList, err = run.OpenBreached(l.cfg, l.log, nil)
	return closeList, err
}

// asOwner is for after the settings are read and before anything of the database is opened.
func (a *app) asOwner(cfg config.Config, log *slog.Logger) (advise func(error) error, err error) {
	operatorName() // before the process is another user's
	return run.AsOwner(a.ctx, cfg, quiet(log))
}

// operatorName is who types a command, for the record: user@host.
var operatorName = sync.OnceValue(func() string {
	name := strconv.Itoa(os.Getuid())
	if u, err := user.Current(); err == nil && u.Username != "" {
		name = u.Username
	}
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "localhost"
	}
	return name + "@" + host
})

// commandActor is the one who types this command.
func commandActor() audit.Actor { return audit.Actor{Name: operatorName(), Via: audit.ViaCLI} }
