//go:build unix

package sqlstore_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
	"github.com/flakepass/flakepass/migrations"
)

// floorsAbove asks as the feed does, by the index.
func (w *world) floorsAbove() string {
	if w.Dialect() == migrations.SQLite {
		return "SELECT COUNT(*) FROM users INDEXED BY users_token_floor_at WHERE token_floor_at >= ?"
	}
	return "SELECT COUNT(*) FROM users FORCE INDEX (users_token_floor_at) WHERE token_floor_at >= ?"
}

// A stamp that is not committed is in the index for who reads what is uncommitted,
// until a rollback. SQLite shows it to no other connection.
func TestUncommittedStampIsInTheIndex(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		user := w.user(t, "ada")
		const stamp = int64(4711)
		run(t, w.SQL(), "UPDATE users SET token_floor_at = 0")
		writer := w.transaction(t)
		run(t, writer, "UPDATE users SET token_floor_at = ? WHERE id = ?", stamp, int64(user))
		seen := int64(1)
		if w.Dialect() == migrations.SQLite {
			seen = 0
		}
		if got := w.uncommitted(t, stamp); got != seen {
			t.Errorf("%d uncommitted stamps; want %d", got, seen)
		}
		if got := number64(t, w.SQL(), w.floorsAbove(), stamp); got != 0 {
			t.Errorf("%d stamps for who reads what is committed", got)
		}
		must(t, writer.Rollback())
		if got := w.uncommitted(t, stamp); got != 0 {
			t.Errorf("%d stamps after the rollback", got)
		}
	})
}

// uncommitted counts the users with that stamp or a later one, committed or not.
func (w *world) uncommitted(t *testing.T, stamp int64) int64 {
	t.Helper()
	if w.Dialect() == migrations.SQLite {
		other, err := w.SQL().Conn(t.Context())
		must(t, err)
		defer func() { _ = other.Close() }()
		run(t, other, "PRAGMA read_uncommitted = 1")
		return number64(t, other, w.floorsAbove(), stamp)
	}
	tx, err := w.SQL().BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelReadUncommitted})
	must(t, err)
	defer func() { _ = tx.Rollback() }()
	return number64(t, tx, w.floorsAbove(), stamp)
}

// A commit may take as long as it likes. Nobody sees the change before, its locks
// are held meanwhile, and its stamp is as old as the commit was long.
func TestCommitTakesAsLongAsItLikes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		own           func(testing.TB) *testenv.MySQLServer
		hold, release []string
		state         string // of who waits
	}{
		// As a backup does.
		{"MySQL", testenv.OwnMySQL, []string{"FLUSH TABLES WITH READ LOCK"}, []string{"UNLOCK TABLES"}, "Waiting for commit lock"},
		// No replica has received it.
		{"MySQL, semisynchronous", testenv.OwnMySQL, []string{
			"INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'",
			"SET GLOBAL rpl_semi_sync_source_timeout = 3600000", "SET GLOBAL rpl_semi_sync_source_enabled = ON",
		}, []string{"SET GLOBAL rpl_semi_sync_source_enabled = OFF"}, "Waiting for semi-sync ACK from replica"},
		{"MariaDB", testenv.OwnMariaDB, []string{"BACKUP STAGE START", "BACKUP STAGE BLOCK_COMMIT"}, []string{"BACKUP STAGE END"}, "Waiting for backup lock"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := c.own(t)
			w := newWorld(t, onServer(t, "root@tcp("+m.Addr+")/"+m.Name))
			user := int64(w.user(t, "ada"))
			settings := number64(t, w.SQL(), settingsVersion)
			holder, err := m.DB().Conn(t.Context())
			must(t, err)
			defer func() { _ = holder.Close() }()

			writer := w.transaction(t)
			run(t, writer, "UPDATE settings SET version = version + 1 WHERE scope = 'global'")
			run(t, writer, "UPDATE users SET token_floor_at = "+w.Now()+" WHERE id = ?", user)
			stamp := number64(t, writer, "SELECT token_floor_at FROM users WHERE id = ?", user)
			id := number64(t, writer, "SELECT CONNECTION_ID()")
			for _, statement := range c.hold {
				run(t, holder, statement)
			}
			committed := make(chan error, 1)
			go func() { committed <- writer.Commit() }()
			testenv.Eventually(t, time.Minute, func() bool {
				var state string
				err := holder.QueryRowContext(t.Context(), "SELECT COALESCE(state, '') FROM information_schema.processlist WHERE id = ?", id).Scan(&state)
				return err == nil && state == c.state
			}, "the commit to be "+c.state)
			w.ticks(t, stamp)

			if got := number64(t, w.SQL(), w.floorsAbove(), stamp); got != 0 {
				t.Errorf("%d users have the stamp before it is committed", got)
			}
			if got := w.uncommitted(t, stamp); got != 1 {
				t.Errorf("%d users have the uncommitted stamp; want 1", got)
			}
			if got := number64(t, w.SQL(), settingsVersion); got != settings {
				t.Errorf("the settings are at version %d before that is committed; want %d", got, settings)
			}
			reader := w.transaction(t)
			var n int64
			if err := reader.QueryRowContext(t.Context(), settingsVersion+w.ShareNow()).Scan(&n); !sqlstore.LockedNow(err) {
				t.Errorf("a share lock while the commit waits: %v", err)
			}
			for _, statement := range c.release {
				run(t, holder, statement)
			}
			must(t, <-committed)
			if got := number64(t, w.SQL(), w.floorsAbove(), stamp); got != 1 {
				t.Errorf("%d users have the stamp that is committed; want 1", got)
			}
			if got := number64(t, reader, settingsVersion+w.ShareNow()); got != settings+1 {
				t.Errorf("the settings are at version %d; want %d", got, settings+1)
			}
		})
	}
}
