//go:build unix

package gormstore_test

import (
	"database/sql"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/testenv"
	"github.com/flakepass/flakepass/migrations"
)

// A share lock that waits sees what the writer for whom it has waited committed,
// though its statement began before that commit.
func TestShareLockThatWaitsSeesWhatItWaitedFor(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.withoutSQLite(t)
		user := w.user(t, "ada")
		writer, reader := w.transaction(t), w.transaction(t)
		run(t, writer, "UPDATE users SET updated_at = 4711 WHERE id = ?", int64(user))
		read := w.blocked(t, reader, func() (n int64, err error) {
			err = reader.QueryRowContext(t.Context(), "SELECT updated_at FROM users WHERE id = ?"+w.ForShare(), int64(user)).Scan(&n)
			return n, err
		})
		must(t, writer.Commit())
		if got := <-read; got.err != nil || got.n != 4711 {
			t.Errorf("%d, %v; want what was committed meanwhile", got.n, got.err)
		}
	})
}

// The clock of a statement is read when it begins. So a stamp that is made by a
// statement that waits for a lock is as old as the wait is long, in a change and in
// a read alike, and a statement after the one that waited has a new one.
func TestClockOfAStatementIsReadBeforeItWaits(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.withoutSQLite(t)
		for _, c := range []struct {
			name string
			wait func(tx *sql.Tx, user idworker.ID) (stamp int64, err error)
			old  bool
		}{
			{"an UPDATE", func(tx *sql.Tx, user idworker.ID) (int64, error) {
				_, err := tx.ExecContext(t.Context(), "UPDATE users SET updated_at = "+w.Now()+" WHERE id = ?", int64(user))
				return number64(t, tx, "SELECT updated_at FROM users WHERE id = ?", int64(user)), err
			}, true},
			{"a locking read", func(tx *sql.Tx, user idworker.ID) (stamp int64, err error) {
				return stamp, tx.QueryRowContext(t.Context(), "SELECT "+w.Now()+" FROM users WHERE id = ?"+w.ForRead(), int64(user)).Scan(&stamp)
			}, true},
			{"the statement after a locking read", func(tx *sql.Tx, user idworker.ID) (stamp int64, err error) {
				if err := tx.QueryRowContext(t.Context(), "SELECT 0 FROM users WHERE id = ?"+w.ForRead(), int64(user)).Scan(&stamp); err != nil {
					return 0, err
				}
				_, err = tx.ExecContext(t.Context(), "UPDATE users SET updated_at = "+w.Now()+" WHERE id = ?", int64(user))
				return number64(t, tx, "SELECT updated_at FROM users WHERE id = ?", int64(user)), err
			}, false},
		} {
			user := w.user(t, "ada "+c.name)
			writer, waiter := w.transaction(t), w.transaction(t)
			run(t, writer, "UPDATE users SET updated_at = 0 WHERE id = ?", int64(user))
			stamped := w.blocked(t, waiter, func() (int64, error) { return c.wait(waiter, user) })
			began := number64(t, w.SQL(), "SELECT "+w.Now()) // or earlier
			w.ticks(t, began)
			must(t, writer.Commit())
			got := <-stamped
			if got.err != nil || (got.n <= began) != c.old {
				t.Errorf("%s, which waited until after %d, has the stamp %d, %v; old: want %v", c.name, began, got.n, got.err, c.old)
			}
			must(t, waiter.Rollback())
		}
	})
}

// In SQLite the lock comes first.
func TestClockOfASQLiteTransactionIsReadAfterItsLock(t *testing.T) {
	w := newWorld(t, kinds[0].options(t))
	user := int64(w.user(t, "ada"))
	other, err := w.SQL().Conn(t.Context())
	must(t, err)
	defer func() { _ = other.Close() }()
	run(t, other, "PRAGMA busy_timeout = 60000")
	writer := w.transaction(t)
	about, stamped := make(chan struct{}), make(chan outcome, 1)
	go func() {
		close(about)
		tx, err := other.BeginTx(t.Context(), nil)
		if err != nil {
			stamped <- outcome{0, err}
			return
		}
		_, err = tx.ExecContext(t.Context(), "UPDATE users SET updated_at = "+w.Now()+" WHERE id = ?", user)
		if err == nil {
			err = tx.Commit()
		}
		stamped <- outcome{0, err}
	}()
	<-about
	w.ticks(t, number64(t, w.SQL(), "SELECT "+w.Now()))
	held := number64(t, w.SQL(), "SELECT "+w.Now())
	must(t, writer.Commit())
	if got := <-stamped; got.err != nil {
		t.Fatal(got.err)
	}
	if got := number64(t, w.SQL(), "SELECT updated_at FROM users WHERE id = ?", user); got < held {
		t.Errorf("stamped at %d; the lock was somebody else's until %d", got, held)
	}
}

// ticks waits until the database's clock is past at.
func (w *world) ticks(t *testing.T, at int64) {
	t.Helper()
	testenv.Eventually(t, time.Minute, func() bool { return number64(t, w.SQL(), "SELECT "+w.Now()) > at }, "the database's clock to tick")
}

// An outcome is what a statement answered that had to wait.
type outcome struct {
	n   int64
	err error
}

// blocked runs f, which uses tx, and returns once the server says that tx waits
// for the lock of another transaction.
func (w *world) blocked(t *testing.T, tx *sql.Tx, f func() (int64, error)) <-chan outcome {
	t.Helper()
	// Nothing but the end of the other transaction is to end the wait.
	run(t, tx, "SET SESSION innodb_lock_wait_timeout = 3600")
	id := number64(t, tx, "SELECT CONNECTION_ID()")
	done := make(chan outcome, 1)
	go func() { n, err := f(); done <- outcome{n, err} }()
	testenv.Eventually(t, time.Minute, func() bool { return waits(t, w, id) }, "the statement to wait for a lock")
	return done
}

// waits reports whether a connection waits for the lock of a row. MySQL has a table
// of those that wait. MariaDB's table innodb_trx would do, but shows the same as long
// as somebody reads it more than ten times a second; its monitor shows what is.
func waits(t *testing.T, w *world, connection int64) bool {
	t.Helper()
	if !w.mariaDB() {
		return 0 < number64(t, w.SQL(), "SELECT COUNT(*) FROM performance_schema.data_lock_waits l "+
			"JOIN performance_schema.threads t ON t.thread_id = l.requesting_thread_id WHERE t.processlist_id = ?", connection)
	}
	var kind, name, status string
	must(t, w.SQL().QueryRowContext(t.Context(), "SHOW ENGINE INNODB STATUS").Scan(&kind, &name, &status))
	for _, transaction := range strings.Split(status, "---TRANSACTION")[1:] {
		if strings.Contains(transaction, "thread id "+strconv.FormatInt(connection, 10)+",") && strings.Contains(transaction, "LOCK WAIT") {
			return true
		}
	}
	return false
}

func (w *world) mariaDB() bool {
	return strings.HasPrefix(w.ShareNow(), w.ForShare()) && w.ForShare() != ""
}

func (w *world) withoutSQLite(t *testing.T) {
	t.Helper()
	if w.Dialect() == migrations.SQLite {
		t.Skip("there is one writer at a time; the tests of SQLite are apart")
	}
}
