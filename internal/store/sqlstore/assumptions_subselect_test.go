//go:build unix

package sqlstore_test

import (
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

const (
	theVersion = "(SELECT version FROM settings WHERE scope = 'global')"
	touchAda   = "UPDATE users SET updated_at = 4711 WHERE username = 'ada' AND 0 < "
	takeOver   = "UPDATE users SET updated_at = " + theVersion + " WHERE username = 'ada'"
)

// An UPDATE with a subselect on another table takes no lock there, and waits for
// none: it judges by what was committed before, and a writer may change that before
// it commits.
func TestSubselectOfAnUpdateLocksNothing(t *testing.T) {
	onServers(t, func(t *testing.T, w *world) {
		w.user(t, "ada")
		before := number64(t, w.SQL(), settingsVersion)
		for _, statement := range []string{touchAda + theVersion, takeOver} {
			writer, other := w.transaction(t), w.transaction(t)
			run(t, writer, "UPDATE settings SET version = version + 1 WHERE scope = 'global'")
			run(t, other, "SET SESSION innodb_lock_wait_timeout = 1")
			run(t, other, statement)
			if statement == takeOver {
				if got := number64(t, other, "SELECT updated_at FROM users WHERE username = 'ada'"); got != before {
					t.Errorf("%s: %d of a change that is not committed; want %d", statement, got, before)
				}
			}
			must(t, writer.Rollback())
			writer = w.transaction(t)
			run(t, writer, settingsVersion+" FOR UPDATE NOWAIT")
			must(t, writer.Rollback())
			must(t, other.Rollback())
		}
	})
}

// A subselect that asks for the share lock gets it in the same statement, and so do
// a join and the subselect of a DELETE, which do not ask.
func TestOtherSubselectsLock(t *testing.T) {
	onServers(t, func(t *testing.T, w *world) {
		w.user(t, "ada")
		asked := func(lock string) string { return strings.TrimSuffix(theVersion, ")") + lock + ")" }
		for _, statement := range []string{
			touchAda + asked(w.ForShare()),
			"UPDATE users JOIN settings ON scope = 'global' SET users.updated_at = version WHERE username = 'ada'",
			"DELETE FROM users WHERE username = 'ada' AND 0 > " + theVersion,
		} {
			writer, other := w.transaction(t), w.transaction(t)
			run(t, writer, "UPDATE settings SET version = version + 1 WHERE scope = 'global'")
			done := w.blocked(t, other, func() (int64, error) { _, err := other.ExecContext(t.Context(), statement); return 0, err })
			must(t, writer.Rollback())
			if got := <-done; got.err != nil {
				t.Errorf("%s: %v", statement, got.err)
			}
			w.lockedForWriters(t, statement)
			must(t, other.Rollback())
		}
		writer, other := w.transaction(t), w.transaction(t)
		run(t, writer, "UPDATE settings SET version = version + 1 WHERE scope = 'global'")
		statement := touchAda + asked(w.ShareNow())
		run(t, other, "SET SESSION innodb_lock_wait_timeout = 3600")
		if _, err := other.ExecContext(t.Context(), statement); !sqlstore.LockedNow(err) {
			t.Errorf("%s, beside a writer: %v", statement, err)
		}
		must(t, writer.Rollback())
		run(t, other, statement)
		w.lockedForWriters(t, statement)
	})
}

func (w *world) lockedForWriters(t *testing.T, by string) {
	t.Helper()
	writer := w.transaction(t)
	if _, err := writer.ExecContext(t.Context(), settingsVersion+" FOR UPDATE NOWAIT"); !sqlstore.LockedNow(err) {
		t.Errorf("%s leaves the settings to a writer: %v", by, err)
	}
	must(t, writer.Rollback())
}

// An UPDATE that has to wait for its row judges it by what the settings were before
// it waited.
func TestSubselectOfAnUpdateIsNotReadAgainAfterAWait(t *testing.T) {
	onServers(t, func(t *testing.T, w *world) {
		user := w.user(t, "ada")
		writer, waiter := w.transaction(t), w.transaction(t)
		run(t, writer, "UPDATE users SET updated_at = 0 WHERE id = ?", int64(user))
		done := w.blocked(t, waiter, func() (int64, error) {
			changed, err := waiter.ExecContext(t.Context(), "UPDATE users SET updated_at = 7 WHERE id = ? AND 4711 <> "+theVersion, int64(user))
			if err != nil {
				return 0, err
			}
			return changed.RowsAffected()
		})
		run(t, w.SQL(), "UPDATE settings SET version = 4711 WHERE scope = 'global'")
		must(t, writer.Commit())
		if got := <-done; got.err != nil || got.n != 1 {
			t.Errorf("%d rows, %v; want 1, by the version that is no more", got.n, got.err)
		}
	})
}
