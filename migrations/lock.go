package migrations

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/pressly/goose/v3/lock"
)

// patience is how long a call waits for another that is migrating, or for a
// locked file.
const patience = 5 * time.Minute

// A mysqlLock lets one instance at a time migrate a database. The server frees
// it when the connection that holds it ends, and the migration runs on that
// same connection, so no instance can go on after it has lost the lock, as it
// could with a lease.
type mysqlLock struct{}

var _ lock.SessionLocker = mysqlLock{}

// lockName is per database: user-level locks belong to the whole server, and
// their names are at most 64 characters long.
const lockName = "CONCAT('flakepass-migrate-', LEFT(SHA2(LOWER(DATABASE()), 256), 40))"

// SessionLock asks again every second, so that neither a read timeout of the
// connection nor the end of ctx has to interrupt a long wait.
func (mysqlLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	for deadline := time.Now().Add(patience); ; {
		var got sql.NullInt64
		err := conn.QueryRowContext(ctx, "SELECT GET_LOCK("+lockName+", 1)").Scan(&got)
		switch {
		case err != nil:
			return errors.Join(fmt.Errorf("lock: %w", err), discard(conn))
		case !got.Valid:
			return errors.New("lock: refused by the server; does the DSN name a database?")
		case got.Int64 == 1:
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("lock: somebody else has held it for %v", patience)
		}
	}
}

// SessionUnlock gives the lock back. Closing conn would not: it returns the
// connection to the pool, lock and all. So a connection on which the release
// fails is discarded.
func (mysqlLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var released sql.NullInt64
	err := conn.QueryRowContext(ctx, "SELECT RELEASE_LOCK("+lockName+")").Scan(&released)
	if err == nil && released.Int64 != 1 {
		err = errors.New("it was not held to the end")
	}
	if err != nil {
		return errors.Join(fmt.Errorf("unlock: %w", err), discard(conn))
	}
	return nil
}

// discard closes the connection for good instead of returning it to the pool.
func discard(conn *sql.Conn) error {
	err := conn.Raw(func(any) error { return driver.ErrBadConn })
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) {
		return nil
	}
	return err
}

// whileBusy repeats f while SQLite says that somebody else has the file locked.
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

// busy reports SQLITE_BUSY and SQLITE_LOCKED, of any extended kind.
func busy(err error) bool {
	coded, ok := errors.AsType[interface {
		error
		Code() int
	}](err)
	const sqliteBusy, sqliteLocked = 5, 6
	return ok && (coded.Code()&0xff == sqliteBusy || coded.Code()&0xff == sqliteLocked)
}
