package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"

	"github.com/redis/go-redis/v9"

	"github.com/flakepass/flakepass/internal/account"
	"github.com/flakepass/flakepass/internal/config"
	"github.com/flakepass/flakepass/internal/gormstore"
	"github.com/flakepass/flakepass/migrations"
)

// openDatabase connects to the configured database and brings its schema to
// this program's version, which costs one read when it is there already.
func openDatabase(ctx context.Context, cfg config.Config, log *slog.Logger) (*gormstore.DB, error) {
	db, err := connect(ctx, cfg, log, true)
	if err != nil {
		return nil, err
	}
	applied, err := migrations.Up(ctx, db.SQL(), db.Dialect())
	_ = db.Close()
	if err != nil {
		return nil, err
	}
	if len(applied) > 0 {
		log.InfoContext(ctx, "database migrated", "steps", len(applied))
	}
	return connect(ctx, cfg, log, false)
}

// connect opens the configured database as it is; patient if it is to be
// migrated.
func connect(ctx context.Context, cfg config.Config, log *slog.Logger, patient bool) (*gormstore.DB, error) {
	if cfg.Database.Kind == config.SQLite || cfg.Worker.Kind == config.WorkerFile {
		if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
			return nil, fmt.Errorf("data directory (FLAKEPASS_DATA_DIR): %w", err)
		}
	}
	if cfg.Database.Kind == config.SQLite {
		// SQLite would make it readable for everybody, and gives its other files
		// the permissions of this one.
		f, err := os.OpenFile(cfg.Database.Path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, fmt.Errorf("database (FLAKEPASS_DATABASE): %w", err)
		}
		_ = f.Close()
	}
	o := gormstore.Options{Dialect: migrations.SQLite, Source: cfg.Database.Path, Patient: patient, Log: log}
	if cfg.Database.Kind == config.MySQL {
		source, err := gormstore.MySQLSource(cfg.Database.URL.Reveal())
		if err != nil {
			return nil, err
		}
		o.Dialect, o.Source = migrations.MySQL, source
	}
	db, err := gormstore.Open(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("database (FLAKEPASS_DATABASE): %w", err)
	}
	return db, nil
}

// newHasher is the pool in which passwords are hashed: as many at a time as
// there are processors, and as many waiting as about two seconds can serve.
func newHasher(cfg config.Config) (*account.Hasher, error) {
	workers := cfg.HashWorkers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	return account.NewHasher(account.DefaultParams(), workers, 32*workers)
}

// logRedis makes the Redis client, which would write to standard error in its
// own way, write to log. It is one logger for the whole process, so only
// commands call this, before they do anything else.
func logRedis(log *slog.Logger) { redis.SetLogger(redisLog{log}) }

// A redisLog passes on what the Redis client has to say: of servers and
// connections, never of values.
type redisLog struct{ log *slog.Logger }

// Printf is what the client calls.
func (l redisLog) Printf(ctx context.Context, format string, v ...any) {
	l.log.WarnContext(ctx, "redis client", "says", fmt.Sprintf(format, v...))
}
