package migrations

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/pressly/goose/v3/lock"
)

// A lease lets one instance at a time migrate a MySQL, a MariaDB or a cluster of them.
// It is a row that its holder changes every few seconds. Whoever waits takes it only if
// the row has not changed for as long as stale, by its own clock: the clocks of the nodes of
// a cluster differ, so no time in the row decides anything.
//
// A named lock of the server (GET_LOCK) would not do: in a Galera cluster each node has
// its own. A row does: of two changes of it on two nodes, one is refused. There is no
// second lock for an earlier release, because none was published without the lease.
//
// A lease can be lost: to an instance that stood still for a while, the next statement
// belongs to somebody else already. So the holder makes sure of it before each step, and
// the steps do no harm if that comes too late, see [runner.step].
type lease struct {
	record record
	db     *sql.DB
	log    *slog.Logger
	owner  string // of this run, by chance
	holder string // for people
	timing

	doing int64 // the step that this holder, or an earlier one, has begun, and perhaps not recorded
}

// timing is how often a holder changes the row, and how long a row that does not change
// is respected. A holder misses several changes before somebody takes over.
type timing struct{ beat, stale time.Duration }

var usual = timing{beat: 3 * time.Second, stale: 15 * time.Second}

const (
	leaseTable = "flakepass_migration_lease"
	look       = 100 * time.Millisecond // how often a waiting instance looks at the row
	tellAgain  = 10 * time.Second       // how often it says for whom it waits
)

// errLost means that another instance has taken the lease meanwhile.
var errLost = errors.New("another instance has taken over the migration")

func newLease(rec record, db *sql.DB, log *slog.Logger, t timing) *lease {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return &lease{record: rec, db: db, log: log, owner: rand.Text(), holder: fmt.Sprintf("%.200s:%d", host, os.Getpid()), timing: t}
}

// A hold is what the row says.
type hold struct {
	owner, holder string
	version       int64 // grows with each change
	step          int64
	forMillis     int64 // since it was taken, by the clock of the server: for people only
}

// take waits until this run has the lease, or ctx ends.
func (l *lease) take(ctx context.Context) error {
	pause := time.NewTicker(look)
	defer pause.Stop()
	var (
		seen        hold
		since, told time.Time
	)
	for {
		now, err := l.read(ctx)
		if err == nil && (since.IsZero() || now.version != seen.version) {
			seen, since = now, time.Now()
		}
		unchanged := time.Since(since)
		if err == nil && (now.owner == "" || unchanged >= l.stale) {
			var mine bool
			if mine, err = l.takeFrom(ctx, now); mine {
				if now.owner != "" {
					l.log.WarnContext(ctx, "another instance began to migrate the database and gives no sign of life; this one goes on with it",
						"holder", now.holder, "silent_for", unchanged.Round(time.Second))
				}
				return nil
			}
		} else if err == nil && time.Since(told) >= tellAgain {
			told = time.Now()
			l.log.InfoContext(ctx, "waiting for another instance that migrates the database",
				"holder", now.holder, "for", (time.Duration(now.forMillis) * time.Millisecond).Round(time.Second))
		}
		if err != nil && !busy(err) && !notYet(err) {
			return fmt.Errorf("lease: %w", err)
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return fmt.Errorf("lease: held by %s: %w", seen.holder, ctx.Err())
		}
	}
}

// read returns the row. If there is none, it makes it, and returns an error that notYet
// reports. The row need not be the newest one in
// a cluster: a lease is taken only from the row that was read.
func (l *lease) read(ctx context.Context) (h hold, err error) {
	there, err := l.record.tableExists(ctx, l.db, leaseTable)
	if err == nil && !there {
		// All nodes of a Galera cluster run such a statement in the same order.
		_, err = l.db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS "+leaseTable+" (id TINYINT NOT NULL PRIMARY KEY, owner VARCHAR(32) NOT NULL, "+
			"holder VARCHAR(255) NOT NULL, taken_at BIGINT NOT NULL, version BIGINT NOT NULL, step BIGINT NOT NULL) "+
			l.record.suffix+" DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
	}
	if err != nil {
		return hold{}, err
	}
	err = l.db.QueryRowContext(ctx, "SELECT owner, holder, version, step, "+l.record.now+" - taken_at FROM "+leaseTable+" WHERE id = 1").
		Scan(&h.owner, &h.holder, &h.version, &h.step, &h.forMillis)
	if errors.Is(err, sql.ErrNoRows) {
		if _, failed := l.db.ExecContext(ctx, "INSERT IGNORE INTO "+leaseTable+" VALUES (1, '', '', 0, 1, 0)"); failed != nil {
			err = failed
		}
	}
	return h, err
}

// notYet reports that the row is not there yet: it was made just now, and perhaps the node
// that was asked has not applied that.
func notYet(err error) bool {
	const noTable = 1146
	return errors.Is(err, sql.ErrNoRows) || says(err, noTable)
}

// takeFrom takes the lease if the row is still that one.
func (l *lease) takeFrom(ctx context.Context, h hold) (mine bool, err error) {
	result, err := l.db.ExecContext(ctx, "UPDATE "+leaseTable+" SET owner = ?, holder = ?, taken_at = "+l.record.now+", version = version + 1 WHERE id = 1 AND version = ?", //nolint:gosec // two constants
		l.owner, l.holder, h.version)
	mine, err = one(result, err)
	if mine {
		l.doing = h.step
	}
	return mine, err
}

func one(result sql.Result, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n == 1, err
}

// renew changes the row every few seconds until ctx ends. What comes of a single try does
// not matter: a step of the holder can block it, as a change of a table does in Galera.
func (l *lease) renew(ctx context.Context) {
	tick := time.NewTicker(l.beat)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_, _ = l.db.ExecContext(ctx, "UPDATE "+leaseTable+" SET version = version + 1 WHERE id = 1 AND owner = ?", l.owner)
		case <-ctx.Done():
			return
		}
	}
}

// begin notes that the holder now begins a step, on the connection on which it will run
// it. It returns errLost, and notes nothing, if this run has lost the lease.
func (l *lease) begin(ctx context.Context, conn *sql.Conn, step int64) error {
	if err := fresh(ctx, conn); err != nil {
		return err
	}
	mine, err := one(conn.ExecContext(ctx, "UPDATE "+leaseTable+" SET version = version + 1, step = ? WHERE id = 1 AND owner = ?", step, l.owner))
	if err == nil && !mine {
		err = errLost
	}
	if err == nil {
		l.doing = step
	}
	return err
}

// give lets the next one have the lease at once. If that fails, it waits for some seconds.
func (l *lease) give(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err := onConn(ctx, l.db, func(conn *sql.Conn) error {
		err := fresh(ctx, conn) // or a node that is late has no such row
		if err == nil {
			_, err = conn.ExecContext(ctx, "UPDATE "+leaseTable+" SET owner = '', holder = '', version = version + 1, step = ? WHERE id = 1 AND owner = ?", l.doing, l.owner)
		}
		return err
	})
	if err != nil {
		l.log.WarnContext(ctx, "the lease of the migration was not given back; the next instance that migrates waits for it", "wait", l.stale, "err", err)
	}
}

// A turn makes goose run a step only on a connection that is fit for it, and only if this
// run still has the lease. On that connection no step waits longer than lockWait for a table.
type turn struct {
	lease *lease
	step  int64
}

var _ lock.SessionLocker = turn{}

// SessionLock is called before the step.
func (t turn) SessionLock(ctx context.Context, conn *sql.Conn) error {
	if err := t.lease.begin(ctx, conn, t.step); err != nil {
		return err
	}
	_, err := conn.ExecContext(ctx, fmt.Sprintf("SET SESSION lock_wait_timeout = %d", int(lockWait.Seconds())))
	return err
}

// SessionUnlock is called after the step. The lease is for all steps, but the connection goes
// back to its pool, whose next user has not asked for such a limit.
func (turn) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "SET SESSION lock_wait_timeout = DEFAULT")
	return err
}

func onConn(ctx context.Context, db *sql.DB, f func(*sql.Conn) error) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	return f(conn)
}

// fresh makes a connection to a node of a Galera cluster read what any node has committed,
// for as long as the connection lasts. Another server has no such setting, or does not use it.
func fresh(ctx context.Context, conn *sql.Conn) error {
	var name, on string
	err := conn.QueryRowContext(ctx, "SHOW VARIABLES LIKE 'wsrep_on'").Scan(&name, &on)
	if errors.Is(err, sql.ErrNoRows) || err == nil && on != "ON" {
		return nil
	}
	if err == nil {
		const reads, updates, inserts = 1, 2, 4
		_, err = conn.ExecContext(ctx, fmt.Sprintf("SET SESSION wsrep_sync_wait = %d", reads|updates|inserts))
	}
	if err != nil {
		return fmt.Errorf("read what the cluster has committed: %w", err)
	}
	return nil
}
