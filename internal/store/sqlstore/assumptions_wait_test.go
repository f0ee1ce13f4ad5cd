//go:build unix

package sqlstore_test

import (
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// A share lock that waits sees what the writer for whom it has waited committed,
// though its statement began before that commit.
func TestShareLockThatWaitsSeesWhatItWaitedFor(t *testing.T) {
	onServers(t, func(t *testing.T, w *world) {
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
// a read alike, and a statement after the one that waited has a new one. SYSDATE is
// read after the wait, unless the server was started with --sysdate-is-now.
func TestClockOfAStatementIsReadBeforeItWaits(t *testing.T) {
	onServers(t, func(t *testing.T, w *world) {
		lock := "SELECT " + w.Now() + " FROM users WHERE id = ?" + w.ForRead()
		stamp := "UPDATE users SET updated_at = " + w.Now() + " WHERE id = ?"
		for _, c := range []struct {
			name string
			wait func(tx *sql.Tx, user int64) (stamp int64, err error)
			old  bool
		}{
			{"an UPDATE", func(tx *sql.Tx, user int64) (int64, error) { return stamped(t, tx, stamp, user) }, true},
			{"a locking read", func(tx *sql.Tx, user int64) (at int64, err error) {
				err = tx.QueryRowContext(t.Context(), lock, user).Scan(&at)
				return at, err
			}, true},
			{"an UPDATE after a locking read", func(tx *sql.Tx, user int64) (int64, error) {
				if _, err := tx.ExecContext(t.Context(), lock, user); err != nil {
					return 0, err
				}
				return stamped(t, tx, stamp, user)
			}, false},
			{"an UPDATE with SYSDATE", func(tx *sql.Tx, user int64) (int64, error) {
				return stamped(t, tx, strings.Replace(stamp, "NOW(", "SYSDATE(", 1), user)
			}, false},
		} {
			user := int64(w.user(t, "ada "+c.name))
			writer, waiter := w.transaction(t), w.transaction(t)
			run(t, writer, "UPDATE users SET updated_at = 0 WHERE id = ?", user)
			done := w.blocked(t, waiter, func() (int64, error) { return c.wait(waiter, user) })
			waiting := number64(t, w.SQL(), "SELECT "+w.Now())
			w.ticks(t, waiting)
			must(t, writer.Commit())
			got := <-done
			if got.err != nil || got.n == 0 || (got.n <= waiting) != c.old {
				t.Errorf("%s, which waited from %d or earlier, has the stamp %d, %v; old: want %v", c.name, waiting, got.n, got.err, c.old)
			}
			must(t, waiter.Rollback())
		}
	})
}

// stamped runs an UPDATE of when a user was changed, and returns what it set.
func stamped(t *testing.T, tx *sql.Tx, statement string, user int64) (at int64, err error) {
	t.Helper()
	if _, err := tx.ExecContext(t.Context(), statement, user); err != nil {
		return 0, err
	}
	err = tx.QueryRowContext(t.Context(), "SELECT updated_at FROM users WHERE id = ?", user).Scan(&at)
	return at, err
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
	about, done := make(chan struct{}), make(chan outcome, 1)
	go func() {
		close(about)
		tx, err := other.BeginTx(t.Context(), nil)
		if err != nil {
			done <- outcome{0, err}
			return
		}
		at, err := stamped(t, tx, "UPDATE users SET updated_at = "+w.Now()+" WHERE id = ?", user)
		done <- outcome{at, errors.Join(err, tx.Commit())}
	}()
	<-about
	w.ticks(t, number64(t, w.SQL(), "SELECT "+w.Now()))
	held := number64(t, w.SQL(), "SELECT "+w.Now())
	must(t, writer.Commit())
	if got := <-done; got.err != nil || got.n < held {
		t.Errorf("stamped at %d, %v; another held the lock until %d or later", got.n, got.err, held)
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
