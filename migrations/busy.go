package migrations

import (
	"context"
	"errors"
	"time"

	"github.com/go-sql-driver/mysql"
)

// patience is how long a call waits for a locked file, or for a row that another
// transaction has locked.
const patience = 5 * time.Minute

// whileBusy repeats f while the database says that somebody else was in the way.
// The busy_timeout of the connection does not cover all such cases: SQLite does
// not wait where two processes change a file to WAL at once, or where waiting
// could not help a transaction that began by reading.
func whileBusy(ctx context.Context, f func() error) error {
	pause := time.NewTicker(20 * time.Millisecond)
	defer pause.Stop()
	for deadline := time.Now().Add(patience); ; {
		err := f()
		if !busy(err) || time.Now().After(deadline) {
			return err
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		}
	}
}

// busy reports that a statement did nothing because of another transaction: in SQLite
// SQLITE_BUSY and SQLITE_LOCKED, of any extended kind, in MySQL a deadlock, which in a
// Galera cluster may be with another node, a row that was locked for too long, and a node that
// has not caught up.
func busy(err error) bool {
	if refused, ok := errors.AsType[*mysql.MySQLError](err); ok {
		const waitedTooLong, deadlock, changed = 1205, 1213, 1020
		return refused.Number == waitedTooLong || refused.Number == deadlock || refused.Number == changed
	}
	coded, ok := errors.AsType[interface {
		error
		Code() int
	}](err)
	const sqliteBusy, sqliteLocked = 5, 6
	return ok && (coded.Code()&0xff == sqliteBusy || coded.Code()&0xff == sqliteLocked)
}
