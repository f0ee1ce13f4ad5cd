package migrations

import (
	"cmp"
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
	r := &runner{db: db, dialect: d, record: rec, folder: folder, log: cmp.Or(log, slog.New(slog.DiscardHandler)), timing: usual}
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

// lacking are those that a database lacks that has these.
func (r *runner) lacking(have applied) []migration {
	return slices.DeleteFunc(slices.Clone(r.known), have.has)
}

// newestOf are the newest that a database has, at most so many, the newest first.
func (r *runner) newestOf(have applied, most int) []migration {
	list := slices.DeleteFunc(slices.Clone(r.known), func(m migration) bool { return !have.has(m) })
	slices.Reverse(list)
	return list[:min(most, len(list))]
}

// run applies or undoes what the list has. On MySQL it waits until no other instance
// migrates, and leaves out what that has done meanwhile.
func (r *runner) run(ctx context.Context, list []migration, to direction) (done []Applied, err error) {
	if len(list) == 0 {
		return nil, nil
	}
	if r.dialect == SQLite {
		if to == up { // the transaction of a step that is undone looks for itself
			list, err = r.still(ctx, list, to)
		}
		if err != nil {
			return nil, err
		}
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
	list, err := r.still(ctx, list, to)
	if err != nil {
		return nil, err
	}
	return r.steps(ctx, list, to)
}

// still is the list as it is right now that this run has its turn. Another may have done a part of it, or undone
// what a step of it rests on. What another has added on top of a step is not for this run to undo: it fails with errMoved.
func (r *runner) still(ctx context.Context, list []migration, to direction) ([]migration, error) {
	have, err := r.have(ctx)
	if err != nil {
		return nil, fmt.Errorf("migrations: %s: %w", to, err)
	}
	if to == up {
		return r.lacking(have), nil
	}
	list = slices.DeleteFunc(slices.Clone(list), func(m migration) bool { return !have.has(m) })
	if len(list) > 0 && list[0].number != have.newest() {
		return nil, fmt.Errorf("migrations: %s: %w; see `flakepass migrate status`", to, errMoved)
	}
	return list, nil
}
