package migrations

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/pressly/goose/v3"
)

// A direction is that of a run, as goose puts it.
type direction bool

const (
	up   direction = true
	down direction = false
)

func (d direction) String() string {
	if d == up {
		return "up"
	}
	return "down"
}

type migration struct {
	number int64
	name   string
}

// String is the name of the migration's file without its ending.
func (m migration) String() string { return fmt.Sprintf("%05d_%s", m.number, m.name) }

// A runner applies the migrations of one dialect to one database. It uses
// goose's ApplyVersion and not its Up, which creates its table before it takes
// its lock, so that racing first starts can fail.
type runner struct {
	db      *sql.DB
	dialect Dialect
	record  record
	folder  fs.FS
	known   []migration // in the order of their numbers
}

func newRunner(db *sql.DB, d Dialect) (*runner, error) {
	rec, err := recordOf(d)
	if err != nil {
		return nil, err
	}
	folder, err := fs.Sub(files, string(d))
	if err != nil {
		return nil, fmt.Errorf("migrations: %w", err)
	}
	r := &runner{db: db, dialect: d, record: rec, folder: folder}
	p, err := r.provider()
	if err != nil {
		return nil, fmt.Errorf("migrations: %w", err)
	}
	for _, s := range p.ListSources() {
		_, name, _ := strings.Cut(strings.TrimSuffix(path.Base(s.Path), ".sql"), "_")
		r.known = append(r.known, migration{number: s.Version, name: name})
	}
	return r, nil
}

// provider returns a fresh one for each attempt, because a provider tries only
// once to create its table.
func (r *runner) provider() (*goose.Provider, error) {
	options := []goose.ProviderOption{goose.WithStore(r.record), goose.WithDisableGlobalRegistry(true)}
	if r.dialect == MySQL {
		options = append(options, goose.WithSessionLocker(mysqlLock{}))
	}
	return goose.NewProvider(goose.DialectCustom, r.db, r.folder, options...)
}

// newest is the number of the last migration that this program knows.
func (r *runner) newest() int64 { return r.known[len(r.known)-1].number }

// read returns what the database has.
func (r *runner) read(ctx context.Context) (applied, error) {
	var have applied
	err := whileBusy(ctx, func() (err error) {
		have, err = r.record.read(ctx, r.db)
		return err
	})
	return have, err
}

// have returns what the database has, or ErrAhead if that is more than this
// program knows.
func (r *runner) have(ctx context.Context) (applied, error) {
	have, err := r.read(ctx)
	if err != nil {
		return nil, err
	}
	known := 0
	for _, m := range r.known {
		if have.has(m) {
			known++
		}
	}
	if known < len(have) {
		return nil, fmt.Errorf("%w: it is at %d, the program knows up to %d; run the newer release", ErrAhead, have.newest(), r.newest())
	}
	return have, nil
}

// run applies or undoes migrations one by one and stops at the first failure.
func (r *runner) run(ctx context.Context, list []migration, to direction) ([]Applied, error) {
	var done []Applied
	for _, m := range list {
		start := time.Now()
		mine, err := r.step(ctx, m, to)
		if err != nil {
			return done, r.failure(m, to, err)
		}
		if mine {
			done = append(done, Applied{Number: m.number, Name: m.name, Took: time.Since(start)})
		}
	}
	return done, nil
}

// step applies or undoes one migration. It returns false when somebody else has
// done so in the meantime.
func (r *runner) step(ctx context.Context, m migration, to direction) (mine bool, err error) {
	err = whileBusy(ctx, func() error {
		p, err := r.provider()
		if err != nil {
			return err
		}
		_, err = p.ApplyVersion(ctx, m.number, bool(to))
		return err
	})
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, goose.ErrAlreadyApplied), errors.Is(err, goose.ErrNotApplied):
		return false, nil
	}
	// On SQLite, the second of two processes learns that it was second when its
	// transaction fails and leaves nothing behind.
	if have, readErr := r.read(ctx); readErr == nil && have.has(m) == bool(to) {
		return false, nil
	}
	return false, err
}

// failure says which migration failed, why, and what to do about it.
func (r *runner) failure(m migration, to direction, err error) error {
	partial, ok := errors.AsType[*goose.PartialError](err)
	switch {
	case !ok || ctxEnded(err):
		return fmt.Errorf("migrations: %s: %s: %w", to, m, err)
	case r.dialect == SQLite:
		return fmt.Errorf("migrations: %s: %s failed and left nothing behind: %w", to, m, partial.Err)
	}
	return fmt.Errorf("migrations: %s: %s failed: %w; if an earlier run of it was cut off, remove by hand what that left, "+
		"then run `flakepass migrate %s` again", to, m, partial.Err, to)
}

func ctxEnded(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
