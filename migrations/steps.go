package migrations

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
)

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
	case !ok || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
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
