package migrations

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
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
	log     *slog.Logger
	timing  timing
	lease   *lease // while steps run on MySQL
}

func newRunner(db *sql.DB, d Dialect, log *slog.Logger) (*runner, error) {
	rec, err := recordOf(d)
	if err != nil {
		return nil, err
	}
	folder, err := fs.Sub(files, string(d))
	if err != nil {
		return nil, fmt.Errorf("migrations: %w", err)
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	r := &runner{db: db, dialect: d, record: rec, folder: folder, log: log, timing: usual}
	p, err := r.provider(0)
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
// once to create its table. What it does for that step, it does under the lease.
func (r *runner) provider(step int64) (*goose.Provider, error) {
	options := []goose.ProviderOption{goose.WithStore(r.record), goose.WithDisableGlobalRegistry(true)}
	if r.lease != nil {
		options = append(options, goose.WithSessionLocker(turn{r.lease, step}))
	}
	return goose.NewProvider(goose.DialectCustom, r.db, r.folder, options...)
}

// newest is the number of the last migration that this program knows.
func (r *runner) newest() int64 { return r.known[len(r.known)-1].number }

// read returns what the database has.
func (r *runner) read(ctx context.Context) (applied, error) {
	var have applied
	err := whileBusy(ctx, func() (err error) {
		if r.dialect == SQLite {
			have, err = r.record.read(ctx, r.db)
			return err
		}
		return onConn(ctx, r.db, func(conn *sql.Conn) (err error) {
			if err = fresh(ctx, conn); err == nil {
				have, err = r.record.read(ctx, conn)
			}
			return err
		})
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

// run applies or undoes what the list has. On MySQL it waits until no other instance
// migrates, and leaves out what that has done meanwhile.
func (r *runner) run(ctx context.Context, list []migration, to direction) (done []Applied, err error) {
	if r.dialect == SQLite || len(list) == 0 {
		return r.steps(ctx, list, to)
	}
	r.lease = newLease(r.record, r.db, r.log, r.timing)
	for {
		if err := r.lease.take(ctx); err != nil {
			return done, fmt.Errorf("migrations: %s: %w", to, err)
		}
		some, err := r.alone(ctx, list, to)
		done = append(done, some...)
		if !errors.Is(err, errLost) {
			return done, err
		}
		r.log.WarnContext(ctx, "another instance has taken over the migration; waiting for it")
	}
}

// alone does what run does while this run has the lease, and gives that back.
func (r *runner) alone(ctx context.Context, list []migration, to direction) ([]Applied, error) {
	work, stop := context.WithCancel(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() { r.lease.renew(work) })
	defer func() {
		stop()
		renewing.Wait()
		r.lease.give(ctx)
	}()
	have, err := r.have(ctx)
	if err != nil {
		return nil, fmt.Errorf("migrations: %s: %w", to, err)
	}
	return r.steps(ctx, slices.DeleteFunc(slices.Clone(list), func(m migration) bool { return have.has(m) == bool(to) }), to)
}

// steps applies or undoes migrations one by one and stops at the first failure.
func (r *runner) steps(ctx context.Context, list []migration, to direction) ([]Applied, error) {
	var done []Applied
	for _, m := range list {
		start := time.Now()
		mine, err := r.step(ctx, m, to)
		if err != nil {
			return done, r.failure(ctx, m, to, err)
		}
		if mine {
			done = append(done, Applied{Number: m.number, Name: m.name, Took: time.Since(start)})
		}
	}
	return done, nil
}

// step applies or undoes one migration. It returns false when somebody else has
// done so in the meantime.
//
// On MySQL the statement of a step and its record are two transactions. A run that ends
// between them, or whose statement the server finishes later, leaves a step that is done and
// not recorded. So does a try of this run whose record waited for too long, as for a backup.
// The lease has the number of the step that was begun: if the statement
// now fails because its result is there, that is the result of the earlier try, all of it, for a
// statement that changes the schema is atomic. So only the record is missing.
func (r *runner) step(ctx context.Context, m migration, to direction) (mine bool, err error) {
	begun := int64(0) // before the last try
	err = whileBusy(ctx, func() error {
		if r.lease != nil {
			begun = r.lease.doing
		}
		p, err := r.provider(to.of(m))
		if err != nil {
			return err
		}
		_, err = p.ApplyVersion(ctx, m.number, bool(to))
		if waitedTooLong(err) {
			r.log.WarnContext(ctx, "a migration waits until the transactions end that use its table, such as a backup; meanwhile it lets other statements pass",
				"migration", m.String(), "tries_again_in", breath, "gives_up_after", patience)
		}
		return err
	})
	if r.lease != nil && isThere(err) && begun == to.of(m) {
		r.log.WarnContext(ctx, "an earlier try of this migration was cut off when it was done; recording it", "migration", m.String())
		err = r.recordOnly(ctx, m, to)
	}
	if r.lease != nil && (err == nil || isThere(err)) {
		r.lease.doing = 0
	}
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, goose.ErrAlreadyApplied), errors.Is(err, goose.ErrNotApplied):
		return false, nil
	}
	// On SQLite, the second of two processes learns that it was second when its
	// transaction fails and leaves nothing behind. On MySQL that may be one that stood still
	// and has lost the lease.
	if have, readErr := r.read(ctx); readErr == nil && have.has(m) == bool(to) {
		return false, nil
	}
	return false, err
}

// of is the step, one way or the other, as a number that is not 0.
func (d direction) of(m migration) int64 {
	if d == up {
		return m.number
	}
	return -m.number
}

// recordOnly records a step whose statement was done before.
func (r *runner) recordOnly(ctx context.Context, m migration, to direction) error {
	return whileBusy(ctx, func() error {
		return onConn(ctx, r.db, func(conn *sql.Conn) error {
			if err := r.lease.begin(ctx, conn, to.of(m)); err != nil {
				return err
			}
			if to == down {
				return r.record.Delete(ctx, conn, m.number)
			}
			return r.record.Insert(ctx, conn, database.InsertRequest{Version: m.number})
		})
	})
}

// failure says which migration failed, why, and what to do about it. After a stop that is the reason, whatever the
// transaction that met it says.
func (r *runner) failure(ctx context.Context, m migration, to direction, err error) error {
	if ended := ctx.Err(); ended != nil && !errors.Is(err, ended) {
		err = fmt.Errorf("%w: %w", ended, err)
	}
	partial, ok := errors.AsType[*goose.PartialError](err)
	switch {
	case !ok || ctxEnded(err):
		return fmt.Errorf("migrations: %s: %s: %w", to, m, err)
	case r.dialect == SQLite:
		return fmt.Errorf("migrations: %s: %s failed and left nothing behind: %w", to, m, partial.Err)
	case waitedTooLong(err):
		return fmt.Errorf("migrations: %s: %s has changed nothing: a transaction used its table for %v: %w; end that transaction, "+
			"then run `flakepass migrate %s` again", to, m, patience, partial.Err, to)
	}
	return fmt.Errorf("migrations: %s: %s failed: %w; if an earlier run of it was cut off, remove by hand what that left, "+
		"then run `flakepass migrate %s` again", to, m, partial.Err, to)
}
