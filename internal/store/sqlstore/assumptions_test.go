//go:build unix

package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// The tests in assumptions*_test.go are of the databases, not of this package:
// the rules in docs/model.md rest on what they show.

const settingsVersion = "SELECT version FROM settings WHERE scope = 'global'"

// A share lock that does not wait says at once that somebody writes the row, while
// plain reads see what was there before. Share locks do not disturb each other.
func TestShareLockThatDoesNotWait(t *testing.T) {
	onServers(t, func(t *testing.T, w *world) { // in a file a transaction has the one write lock from its start
		number := uint16(3572)
		if w.mariaDB() {
			number = 1205
		}
		before := number64(t, w.SQL(), settingsVersion)
		writer := w.transaction(t)
		run(t, writer, "UPDATE settings SET version = version + 1 WHERE scope = 'global'")

		reader := w.transaction(t)
		// If it waited, it would do so for longer than the driver does, and the error
		// were another. Our own sessions wait for two seconds.
		for _, wait := range []string{"2", "3600"} {
			run(t, reader, "SET SESSION innodb_lock_wait_timeout = "+wait)
			var version int64
			err := reader.QueryRowContext(t.Context(), settingsVersion+w.ShareNow()).Scan(&version)
			e, ok := errors.AsType[*mysql.MySQLError](err)
			if !ok || e.Number != number || !sqlstore.LockedNow(err) {
				t.Errorf("a share lock while somebody writes: %v; want number %d", err, number)
			}
		}
		for _, read := range []querier{reader, w.SQL()} {
			if got := number64(t, read, settingsVersion); got != before {
				t.Errorf("a plain read sees %d of a change that is not committed; want %d", got, before)
			}
		}
		must(t, writer.Commit())

		both := []*sql.Tx{reader, w.transaction(t)}
		for _, tx := range both {
			if got := number64(t, tx, settingsVersion+w.ShareNow()); got != before+1 {
				t.Errorf("a share lock sees %d; want %d", got, before+1)
			}
		}
		for _, tx := range both {
			late := w.transaction(t)
			var version int64
			if err := late.QueryRowContext(t.Context(), settingsVersion+" FOR UPDATE NOWAIT").Scan(&version); !sqlstore.LockedNow(err) {
				t.Errorf("a writer beside a share lock: %v", err)
			}
			must(t, tx.Rollback())
			must(t, late.Rollback())
		}
		if got := number64(t, w.transaction(t), settingsVersion+" FOR UPDATE NOWAIT"); got != before+1 {
			t.Errorf("after both: %d", got)
		}
	})
}

// What else may fail is no lock.
func TestOtherErrorsAreNoLock(t *testing.T) {
	for _, err := range []error{nil, sql.ErrNoRows, context.Canceled, &mysql.MySQLError{Number: 1213}, &mysql.MySQLError{Number: 1064}} {
		if sqlstore.LockedNow(err) {
			t.Errorf("%v is taken for a lock", err)
		}
	}
}

// SQLite's transactions begin with the one write lock. Reads outside of them go on.
func TestSQLiteTransactionsHoldTheWriteLock(t *testing.T) {
	w := newWorld(t, kinds[0].options(t))
	before := number64(t, w.SQL(), settingsVersion)
	writer := w.transaction(t)
	other, err := w.SQL().Conn(t.Context())
	must(t, err)
	defer func() { _ = other.Close() }()
	_, err = other.ExecContext(t.Context(), "PRAGMA busy_timeout = 0")
	must(t, err)
	if _, err := other.BeginTx(t.Context(), nil); err == nil {
		t.Error("two transactions at once")
	}
	run(t, writer, "UPDATE settings SET version = version + 1 WHERE scope = 'global'")
	if got := number64(t, w.SQL(), settingsVersion); got != before {
		t.Errorf("a plain read sees %d of a change that is not committed; want %d", got, before)
	}
	must(t, writer.Commit())
	if got := number64(t, other, settingsVersion); got != before+1 {
		t.Errorf("after the commit: %d; want %d", got, before+1)
	}
}

// A querier is a pool, a connection or a transaction.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// transaction begins one as the package does. It ends with the test.
func (w *world) transaction(t *testing.T) *sql.Tx {
	t.Helper()
	tx, err := w.SQL().BeginTx(t.Context(), nil)
	must(t, err)
	t.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

func run(t *testing.T, on querier, statement string, args ...any) {
	t.Helper()
	if _, err := on.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func number64(t *testing.T, on querier, query string, args ...any) (n int64) {
	t.Helper()
	if err := on.QueryRowContext(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}
