package migrations

import (
	"context"
	"database/sql"
	"log/slog"
	"sync"
	"time"
)

// UpAs is Up for an instance that waits only so long for one that gives no sign of life.
func UpAs(ctx context.Context, db *sql.DB, log *slog.Logger, stale time.Duration) ([]Applied, error) {
	r, err := newRunner(db, MySQL, log)
	if err != nil {
		return nil, err
	}
	r.timing = timing{beat: stale / 5, stale: stale}
	return r.up(ctx)
}

// Hold takes the lease of a MySQL database and renews it until release.
func Hold(ctx context.Context, db *sql.DB) (release func(), err error) {
	rec, err := recordOf(MySQL)
	if err != nil {
		return nil, err
	}
	l := newLease(rec, db, slog.New(slog.DiscardHandler), timing{beat: 50 * time.Millisecond, stale: usual.stale})
	if err := l.take(ctx); err != nil {
		return nil, err
	}
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	var renewing sync.WaitGroup
	renewing.Go(func() { l.renew(work) })
	return sync.OnceFunc(func() {
		stop()
		renewing.Wait()
		l.give(work)
	}), nil
}

// Late is a call of [Up], or of [Down] with one step, that has looked at the database. It goes on when it
// is called.
func Late(ctx context.Context, db *sql.DB, d Dialect, undo bool) (goOn func() ([]Applied, error), err error) {
	r, err := newRunner(db, d, nil)
	if err != nil {
		return nil, err
	}
	have, err := r.have(ctx)
	if err != nil {
		return nil, err
	}
	if undo {
		return func() ([]Applied, error) { return r.run(ctx, r.newestOf(have, 1), down) }, nil
	}
	return func() ([]Applied, error) { return r.run(ctx, r.lacking(have), up) }, nil
}
