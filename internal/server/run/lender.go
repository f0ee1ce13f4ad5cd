package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/idworker/fileworker"
	"github.com/flakepass/flakepass/idworker/redisworker"
	"github.com/flakepass/flakepass/idworker/sqlworker"
	"github.com/flakepass/flakepass/idworker/zkworker"
	"github.com/flakepass/flakepass/internal/server/config"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
	"github.com/flakepass/flakepass/migrations"
)

// OpenWorker opens a worker under the configured lender. A command that runs
// beside a server never asks for the server's own number. closeLender is for
// after the worker's Close, and may be called in any case. recorder may be nil.
func OpenWorker(ctx context.Context, cfg config.Config, db *sqlstore.DB, log *slog.Logger, server bool, recorder idworker.Recorder) (
	w *idworker.Worker, closeLender func(), err error) {
	l, closeLender, err := lender(ctx, cfg, db, log, server)
	if err == nil {
		w, err = idworker.Open(ctx, l, idworker.Options{Recorder: recorder})
	}
	if err != nil {
		closeLender()
		return nil, nil, fmt.Errorf("worker number (FLAKEPASS_WORKER): %w", Advised(err))
	}
	return w, closeLender, nil
}

// LendsFromDatabase reports whether lender needs the database.
func LendsFromDatabase(cfg config.Config) bool {
	return cfg.Worker.Kind == config.WorkerSQL || cfg.Worker.Kind == config.WorkerStatic
}

// lenderName names the machine that lends worker numbers, as FLAKEPASS_WORKER does.
func lenderName(cfg config.Config) string {
	if LendsFromDatabase(cfg) {
		return config.WorkerSQL
	}
	return cfg.Worker.Kind
}

// lender is the configured lender of worker numbers.
func lender(ctx context.Context, cfg config.Config, db *sqlstore.DB, log *slog.Logger, server bool) (l idworker.Lender, closeLender func(), err error) {
	nothing := func() {}
	switch cfg.Worker.Kind {
	case config.WorkerFile:
		dir, err := besideDatabase(cfg.Database.Path)
		// Earlier versions kept the numbers in the data directory.
		return &fileworker.Lender{Dir: dir, Before: filepath.Join(cfg.DataDir, "worker")}, nothing, err
	case config.WorkerRedis:
		l, closeLender = fromRedis(ctx, cfg, log)
		return l, closeLender, nil
	case config.WorkerZooKeeper:
		l, closeLender = fromZooKeeper(cfg, log, server)
		return l, closeLender, nil
	}
	s := &sqlworker.Lender{DB: db.SQL(), Dialect: sqlworker.MySQL, Holder: Holder()}
	if db.Dialect() == migrations.SQLite {
		s.Dialect = sqlworker.SQLite
	}
	if cfg.Worker.Kind == config.WorkerStatic && server {
		s.Only = new(cfg.Worker.Number)
	}
	return s, nothing, nil
}

// FindNumbers fails as [FindDatabase] does where a lender would begin with a new folder, and
// there is no database either to say that it is the right place.
func FindNumbers(cfg config.Config) error {
	if cfg.Worker.Kind != config.WorkerFile {
		return nil // whoever lends will say
	}
	dir, err := besideDatabase(cfg.Database.Path)
	if err != nil {
		return nil //nolint:nilerr // the lender says it
	}
	for _, lends := range []string{dir, filepath.Join(cfg.DataDir, "worker")} {
		if _, err := os.Stat(lends); !errors.Is(err, fs.ErrNotExist) {
			return nil // the lender says what is wrong with it
		}
	}
	return FindDatabase(cfg)
}

// besideDatabase is the folder that lends the numbers of a database file. It is the same for
// every instance that opens the file, by whatever name and with whatever data directory,
// since SQLite's own files are there too.
func besideDatabase(path string) (string, error) {
	dir, err := databaseFolder(path)
	return filepath.Join(dir, "worker"), err
}

// databaseFolder is where the file of a database is, or will be, with all links resolved.
func databaseFolder(path string) (string, error) {
	file, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return filepath.Dir(file), err
	}
	// A command may mint before the first start.
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return filepath.Dir(path), nil
	}
	return dir, err
}

// fromRedis lends from the Redis that the tiers share, over connections of its
// own. With an empty Redis it waits: that Redis may have lost what it had lent.
func fromRedis(ctx context.Context, cfg config.Config, log *slog.Logger) (l idworker.Lender, closeLender func()) {
	rdb := openRedis(cfg.Redis)
	return &redisworker.Lender{
		Client: rdb, Holder: Holder(),
		Waiting: func(until time.Time) {
			log.WarnContext(ctx, "redis is new or has lost its data; waiting until no number that it lent before can be in use",
				"wait", time.Until(until).Round(time.Millisecond))
		},
	}, func() { _ = rdb.Close() }
}

// fromZooKeeper lends for as long as the session lives, and a server that has a
// key the number that the key remembers.
func fromZooKeeper(cfg config.Config, log *slog.Logger, server bool) (l idworker.Lender, closeLender func()) {
	z := cfg.Worker.ZooKeeper
	client := &zkworker.Client{Servers: z.Addrs, User: z.Username, Password: z.Password.Reveal(), Log: log}
	if z.Key == "" || !server {
		return &zkworker.Lender{Client: client, Root: z.Path, Holder: Holder()}, func() { _ = client.Close() }
	}
	k := &zkworker.Keyed{
		Client: client, Root: z.Path, Key: z.Key, Holder: Holder(),
		File: reserveFile(cfg),
	}
	return k, func() { _ = k.Close(); _ = client.Close() }
}

// reserveFile is where a server with a key of ZooKeeper remembers its number.
func reserveFile(cfg config.Config) string { return filepath.Join(cfg.DataDir, "zookeeper-reserve") }

// Holder names this process to operators: its host and PID.
func Holder() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%s:%d", host, os.Getpid())
}
