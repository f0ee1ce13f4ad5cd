package sqlstore_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/flakepass/flakepass/internal/store/sqlstore"
	"github.com/flakepass/flakepass/migrations"
)

// TestChangeOfAFileThatIsGone: a change is not made in a file that has lost its place, and what was
// committed while it lost it is not acknowledged. A file that comes back decides nothing either:
// connections that were made meanwhile lead to another one.
func TestChangeOfAFileThatIsGone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ when, file string }{
		{"before", ""}, {"meanwhile", ""}, {"before", "-wal"}, {"meanwhile", "-shm"},
	} {
		t.Run(c.when+c.file, func(t *testing.T) {
			t.Parallel()
			when := c.when
			path := filepath.Join(t.TempDir(), "flakepass.db")
			db, err := sqlstore.Open(t.Context(), sqlstore.Options{Dialect: migrations.SQLite, Source: path})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = db.Close() })
			if _, err := db.SQL().ExecContext(t.Context(), "CREATE TABLE instances (id TEXT)"); err != nil {
				t.Fatal(err)
			}
			move := func(from, to string) {
				t.Helper()
				if err := os.Rename(from, to); err != nil {
					t.Error(err)
				}
			}
			if err := db.InTurn(t.Context(), func() error { return nil }); err != nil {
				t.Errorf("the file is there: %v", err)
			}
			ran := false
			if when == "before" {
				move(path+c.file, path+c.file+".old")
			}
			err = db.InTurn(t.Context(), func() error {
				ran = true
				if when == "meanwhile" {
					move(path+c.file, path+c.file+".old")
				}
				return nil
			})
			if !errors.Is(err, sqlstore.ErrReplaced) || ran != (when == "meanwhile") {
				t.Errorf("the change has run: %v; %v", ran, err)
			}
			move(path+c.file+".old", path+c.file)
			if err := db.InTurn(t.Context(), func() error { t.Error("a change is made in a file that came back"); return nil }); !errors.Is(err, sqlstore.ErrReplaced) {
				t.Errorf("after it came back: %v", err)
			}
			if _, err := (&sqlstore.Instances{DB: db}).List(t.Context(), 1); !errors.Is(err, sqlstore.ErrReplaced) {
				t.Errorf("a read after it came back: %v", err)
			}
		})
	}
}

// TestFilesBesideADatabaseStayTheSame: the -wal and the -shm are the same files as long as a database
// is open, also after all its other connections were closed, so they say whether it was replaced.
func TestFilesBesideADatabaseStayTheSame(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "flakepass.db")
	open := func() *sqlstore.DB {
		t.Helper()
		db, err := sqlstore.Open(t.Context(), sqlstore.Options{Dialect: migrations.SQLite, Source: path})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		return db
	}
	db := open()
	for _, statement := range []string{"CREATE TABLE kept (n INT)", "PRAGMA wal_checkpoint(TRUNCATE)", "VACUUM"} {
		if _, err := db.SQL().ExecContext(t.Context(), statement); err != nil {
			t.Fatal(statement, err)
		}
		db.Leave()
		if err := open().Close(); err != nil {
			t.Fatal(err)
		}
		if err := db.InTurn(t.Context(), func() error { return nil }); err != nil {
			t.Errorf("after %s: %v", statement, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path + "-wal"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the last connection has left the -wal: %v", err)
	}
}
