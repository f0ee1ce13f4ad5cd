package run

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"github.com/go-sql-driver/mysql"

	"github.com/flakepass/flakepass/internal/domain/fleet"
	"github.com/flakepass/flakepass/internal/server/config"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
	"github.com/flakepass/flakepass/migrations"
)

// openDatabase connects to the configured database, makes it if there is none,
// and brings its schema to this program's version, which costs one read when it
// is there already. It is for the server, which may start before its database: while
// no server takes writes, it waits, as long as FLAKEPASS_DATABASE_WAIT says.
func openDatabase(ctx context.Context, cfg config.Config, log *slog.Logger) (*sqlstore.DB, error) {
	made, err := MakeDatabase(cfg)
	if err != nil {
		return nil, err
	}
	if made {
		log.InfoContext(ctx, "database created", "path", absolute(cfg.Database.Path))
	}
	if cfg.Database.Kind == config.SQLite {
		return migrated(ctx, cfg, log)
	}
	return patiently(ctx, cfg.DatabaseWait, log, func(ctx context.Context) (*sqlstore.DB, error) {
		if err := findWriter(ctx, cfg); err != nil {
			return nil, err
		}
		return migrated(ctx, cfg, log)
	})
}

// migrated opens the database for requests when it has the schema.
func migrated(ctx context.Context, cfg config.Config, log *slog.Logger) (*sqlstore.DB, error) {
	db, err := Connect(ctx, cfg, log, true)
	if err != nil {
		return nil, err
	}
	applied, err := migrations.Up(ctx, db.SQL(), db.Dialect(), log)
	if err == nil && len(applied) == 0 && cfg.Database.Kind == config.SQLite {
		return db, nil // patience is something of MySQL
	}
	_ = db.Close()
	if err != nil {
		return nil, Advised(err)
	}
	if len(applied) > 0 {
		log.InfoContext(ctx, "database migrated", "steps", len(applied))
	}
	return Connect(ctx, cfg, log, false)
}

// OpenExisting connects to a database that is there and has the schema of this
// program. It changes nothing: a command typed in the wrong folder, or by an
// operator who is about to roll back, must not.
func OpenExisting(ctx context.Context, cfg config.Config, log *slog.Logger) (*sqlstore.DB, error) {
	if err := FindDatabase(cfg); err != nil {
		return nil, err
	}
	db, err := Connect(ctx, cfg, log, false)
	if err != nil {
		return nil, err
	}
	if err := migrations.Check(ctx, db.SQL(), db.Dialect()); err != nil {
		_ = db.Close()
		return nil, err
	}
	return db, nil
}

// OpenOrMake is OpenExisting for a command that may be the first of all: it
// makes a database where there is none, or an empty one, and says where.
func OpenOrMake(ctx context.Context, cfg config.Config, log *slog.Logger, out io.Writer) (*sqlstore.DB, error) {
	if _, err := MakeDatabase(cfg); err != nil {
		return nil, err
	}
	db, err := Connect(ctx, cfg, log, true)
	if err != nil {
		return nil, err
	}
	have, err := Applied(ctx, db)
	if err == nil && len(have) == 0 {
		if _, err = migrations.Up(ctx, db.SQL(), db.Dialect(), log); err == nil {
			_, err = fmt.Fprintf(out, "database created: %s\n", Place(cfg))
		}
	}
	_ = db.Close()
	if err != nil {
		return nil, Advised(err)
	}
	return OpenExisting(ctx, cfg, log)
}

// MakeDatabase makes the data directory and an empty SQLite database if they
// are missing, and reports whether the database was.
func MakeDatabase(cfg config.Config) (made bool, err error) {
	if cfg.Database.Kind == config.SQLite || cfg.Worker.Kind == config.WorkerFile {
		if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
			return false, fmt.Errorf("data directory (FLAKEPASS_DATA_DIR): %w", err)
		}
	}
	if cfg.Database.Kind != config.SQLite {
		return false, nil
	}
	info, err := os.Stat(cfg.Database.Path)
	if made = errors.Is(err, fs.ErrNotExist); !made && err == nil && !info.Mode().IsRegular() {
		return false, notAFile(cfg)
	}
	// SQLite would make it readable for every user of the machine, and gives its
	// other files the permissions of this one.
	f, err := os.OpenFile(cfg.Database.Path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return false, fmt.Errorf("database (FLAKEPASS_DATABASE): %w%s", err, whose(err))
	}
	return made, f.Close()
}

// notAFile refuses what SQLite would write its first page into, such as a disk.
func notAFile(cfg config.Config) error {
	return fmt.Errorf("database (FLAKEPASS_DATABASE): %s is not a regular file", absolute(cfg.Database.Path))
}

// FindDatabase returns nil if the database is there, as far as that is known
// without a connection, which would write into an empty file.
func FindDatabase(cfg config.Config) error {
	if cfg.Database.Kind != config.SQLite {
		return nil // its server will say
	}
	info, err := os.Stat(cfg.Database.Path)
	if err == nil && !info.Mode().IsRegular() {
		return notAFile(cfg)
	}
	if err == nil && info.Size() == 0 {
		return fmt.Errorf("the database %s is empty; `flakepass serve` and `flakepass migrate up` make its tables", absolute(cfg.Database.Path))
	}
	if errors.Is(err, fs.ErrNotExist) {
		setting := "FLAKEPASS_DATABASE"
		if cfg.Database.Path == filepath.Join(cfg.DataDir, "flakepass.db") {
			setting = "FLAKEPASS_DATA_DIR"
		}
		return fmt.Errorf("no database at %s; is %s right? `flakepass serve` and `flakepass migrate up` make a new one",
			absolute(cfg.Database.Path), setting)
	}
	if err != nil {
		return fmt.Errorf("database (FLAKEPASS_DATABASE): %w%s", err, whose(err))
	}
	return nil
}

// Connect opens the configured database as it is; patient if it is to be
// migrated.
func Connect(ctx context.Context, cfg config.Config, log *slog.Logger, patient bool) (*sqlstore.DB, error) {
	o := sqlstore.Options{Dialect: migrations.SQLite, Source: cfg.Database.Path, Patient: patient, Log: log}
	if cfg.Database.Kind == config.MySQL {
		source, err := sqlstore.MySQLSource(cfg.Database.URL.Reveal())
		if err != nil {
			return nil, err
		}
		o.Dialect, o.Source = migrations.MySQL, source
	}
	db, err := sqlstore.Open(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("database (FLAKEPASS_DATABASE): %w", Advised(err))
	}
	return db, nil
}

// Advised is the error of a database that cannot be opened, or migrated, with what to do
// about it where that is known. Of nil it is nil.
func Advised(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w%s", err, remedy(err))
}

// remedy is what to do, after a semicolon; empty if it is not known.
func remedy(err error) string {
	const (
		noSuchDatabase, accessDenied, databaseDenied, commandDenied = 1049, 1045, 1044, 1142
		passwordExpired, passwordMustChange, accountLocked, noTLS   = 1862, 1820, 3118, 3159

		sqliteIO, sqliteFull, sqliteCannotOpen = 10, 13, 14
	)
	if refused, ok := errors.AsType[*mysql.MySQLError](err); ok {
		switch refused.Number {
		case noSuchDatabase:
			return "; make it on the server (CREATE DATABASE ... CHARACTER SET utf8mb4), or correct the name"
		case accessDenied, databaseDenied:
			return "; correct the user or the password, or grant the user the database"
		case commandDenied:
			return "; run `flakepass migrate up` with a user who has all rights on the database, or grant this one them (docs/rights.md)"
		case passwordExpired, passwordMustChange:
			return "; set the password of the user anew on the server (ALTER USER ... IDENTIFIED BY ...)"
		case accountLocked:
			return "; unlock the user on the server (ALTER USER ... ACCOUNT UNLOCK)"
		case noTLS:
			return "; add ?tls=true to the URL (docs/configuration.md)"
		}
	}
	switch sqlstore.SQLiteCode(err) {
	case sqliteIO, sqliteFull, sqliteCannotOpen:
		return "; is the disk full, the file system read-only, or the folder of another user?"
	}
	down, ok := errors.AsType[net.Error](err)
	if _, bare := down.(syscall.Errno); ok && !bare || errors.Is(err, mysql.ErrInvalidConn) || errors.Is(err, driver.ErrBadConn) {
		return "; is the server running, and are host and port right?"
	}
	return ""
}

// Applied are the steps that the database has, oldest first.
func Applied(ctx context.Context, db *sqlstore.DB) (list []migrations.State, err error) {
	states, err := migrations.Status(ctx, db.SQL(), db.Dialect())
	for _, s := range states {
		if !s.AppliedAt.IsZero() {
			list = append(list, s)
		}
	}
	return list, err
}

// Running is how many instances have reported lately: 0 also if that cannot be read, as in
// a schema that has no table of them.
func Running(ctx context.Context, db *sqlstore.DB) (n int) {
	all, _ := (&sqlstore.Instances{DB: db}).List(ctx, fleet.Most)
	for i := range all {
		if !all[i].Late() {
			n++
		}
	}
	return n
}

// Place is where the database is, for a person: the absolute path of its file,
// or its URL with the password hidden.
func Place(cfg config.Config) string {
	if cfg.Database.Kind == config.SQLite {
		return absolute(cfg.Database.Path)
	}
	return cfg.Database.String()
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
