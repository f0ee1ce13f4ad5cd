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
	for _, when := range []string{"before", "meanwhile"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
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
				move(path, path+".old")
			}
			err = db.InTurn(t.Context(), func() error {
				ran = true
				if when == "meanwhile" {
					move(path, path+".old")
				}
				return nil
			})
			if !errors.Is(err, sqlstore.ErrReplaced) || ran != (when == "meanwhile") {
				t.Errorf("the change has run: %v; %v", ran, err)
			}
			move(path+".old", path)
			if err := db.InTurn(t.Context(), func() error { t.Error("a change is made in a file that came back"); return nil }); !errors.Is(err, sqlstore.ErrReplaced) {
				t.Errorf("after it came back: %v", err)
			}
			if _, err := (&sqlstore.Instances{DB: db}).List(t.Context(), 1); !errors.Is(err, sqlstore.ErrReplaced) {
				t.Errorf("a read after it came back: %v", err)
			}
		})
	}
}
