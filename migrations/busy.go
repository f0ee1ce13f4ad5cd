package migrations

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-sql-driver/mysql"
)

const (
	// patience is how long a call waits for a locked file, or for a row or a table that
	// another transaction uses.
	patience = 5 * time.Minute

	// lockWait is how long the statement of a step waits for transactions that use its table, such
	// as a backup. While it waits, MySQL makes every later statement on that table wait
	// behind it: all checks and logins. So it gives up soon, lets them pass for breath, and
	// tries again. MySQL's own limits are a year and, in MariaDB, a day.
	lockWait = time.Second
	breath   = 2 * time.Second
)

// whileBusy repeats f while the database says that somebody else was in the way.
// The busy_timeout of the connection does not cover all such cases: SQLite does
// not wait where two processes change a file to WAL at once, or where waiting
// could not help a transaction that began by reading.
func whileBusy(ctx context.Context, f func() error) error {
	for deadline := time.Now().Add(patience); ; {
		err := f()
		if !busy(err) || time.Now().After(deadline) {
			return err
		}
		pause := 20 * time.Millisecond
		if waitedTooLong(err) {
			pause = breath
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		}
	}
}

// waitedTooLong reports that MySQL has given a statement up that waited for a row or a table.
func waitedTooLong(err error) bool {
	const lockWaitTimeout = 1205
	return says(err, lockWaitTimeout)
}

// says reports that MySQL has refused a statement with one of those numbers.
func says(err error, numbers ...uint16) bool {
	refused, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && slices.Contains(numbers, refused.Number)
}

// busy reports that a statement did nothing because of another transaction: in SQLite
// SQLITE_BUSY and SQLITE_LOCKED, of any extended kind, in MySQL a deadlock, which in a
// Galera cluster may be with another node, a row that was locked for too long, and a node that
// has not caught up.
func busy(err error) bool {
	const deadlock, changed = 1213, 1020
	if waitedTooLong(err) || says(err, deadlock, changed) {
		return true
	}
	coded, ok := errors.AsType[interface {
		error
		Code() int
	}](err)
	const sqliteBusy, sqliteLocked = 5, 6
	return ok && (coded.Code()&0xff == sqliteBusy || coded.Code()&0xff == sqliteLocked)
}

// isThere reports that MySQL refused to make something that there is, or to remove
// something that there is not.
func isThere(err error) bool {
	const tableExists, noTable, columnExists, keyExists, noKey = 1050, 1051, 1060, 1061, 1091
	return says(err, tableExists, noTable, columnExists, keyExists, noKey)
}
