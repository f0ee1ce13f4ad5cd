package deploytest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
	"github.com/flakepass/flakepass/migrations"
)

// TestReplacedFileDecidesNothing: a server that goes on with a file which has another one in its
// place, or none, hears of nothing that others commit: an end that was acknowledged to them had no effect.
func TestReplacedFileDecidesNothing(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"replaced", "removed", "overwritten"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			d := e2e.OnSQLite(t)
			i := d.StartLoud(t)
			c, password := e2e.NewClient(t, i.Public), e2e.NewPassword()
			c.Want(c.Register("lena", password), 201, "")
			token := c.Login("lena", password)
			c.Alive(token)
			var err error
			switch way {
			case "replaced":
				e2e.Execute(t, d.SQL(t), "VACUUM INTO ?", d.File+".copy")
				err = os.Rename(d.File+".copy", d.File)
			case "removed":
				err = os.Remove(d.File)
			case "overwritten": // with cp, after rm of the -wal and the -shm
				e2e.Execute(t, d.SQL(t), "VACUUM INTO ?", d.File+".copy")
				var text []byte
				text, err = os.ReadFile(d.File + ".copy")
				err = errors.Join(err, os.Remove(d.File+"-wal"), os.Remove(d.File+"-shm"), os.WriteFile(d.File, text, 0o600))
			}
			if err != nil {
				t.Fatal(err)
			}
			refusedFor(t, i.Ops, "replaced or removed")
			testenv.Eventually(t, e2e.Patience, func() bool {
				status := c.Me(token).Status
				if status != 200 && status != 503 {
					t.Fatalf("a token is %d, want 503 at last, and 200 till then", status)
				}
				return status == 503
			}, "a token is decided no more")
			c.Want(c.TryLogin("lena", password), 503, "unavailable")
			c.Want(c.TryLogin("lena", password+"x"), 503, "unavailable")
			c.Want(c.TryLogin("nobody", password), 503, "unavailable")
			c.Want(c.Register("mia", password), 503, "unavailable")
			if n := strings.Count(i.Log.String(), "the database decides nothing any more"); n != 1 {
				t.Errorf("%d lines say so, want 1 in the first minute", n)
			}
		})
	}
}

// TestBackupOfSQLiteIsRestored runs the commands of docs/databases.md: a copy that is made while
// the server runs is what it serves after it was killed and the copy restored.
func TestBackupOfSQLiteIsRestored(t *testing.T) {
	t.Parallel()
	testenv.Program(t, "sqlite3")
	text, err := os.ReadFile("../../../docs/databases.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## Backups of SQLite\n")
	blocks := strings.Split(section, "```")
	dir := t.TempDir()
	run := func(block string) {
		t.Helper()
		shell := exec.CommandContext(t.Context(), "sh", "-e", "-c", strings.TrimPrefix(block, "sh\n"))
		shell.Dir = dir
		if out, err := shell.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "data", "flakepass.db")
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
	e2e.Execute(t, db.SQL(), "CREATE TABLE kept (n INT)")
	e2e.Execute(t, db.SQL(), "INSERT INTO kept VALUES (1)")
	run(blocks[1])
	e2e.Execute(t, db.SQL(), "INSERT INTO kept VALUES (2)")
	crashed, err := os.ReadFile(path + "-wal") // a process that is killed leaves it
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Close(), os.WriteFile(path+"-wal", crashed, 0o600)); err != nil {
		t.Fatal(err)
	}
	run(blocks[3])
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the restored database: %v, %v; want 0600", info.Mode(), err)
	}
	if n := e2e.Count(t, open().SQL(), "SELECT COUNT(*) FROM kept"); n != 1 {
		t.Errorf("%d rows after the restore, want the 1 of the backup", n)
	}
}

// TestCloseWritesNothingIntoAFileThatWasReplaced: the log of a database that was restored while it
// was open is not written over what other processes have committed since.
func TestCloseWritesNothingIntoAFileThatWasReplaced(t *testing.T) {
	t.Parallel()
	testenv.Program(t, "sqlite3")
	path := filepath.Join(t.TempDir(), "flakepass.db")
	db, err := sqlstore.Open(t.Context(), sqlstore.Options{Dialect: migrations.SQLite, Source: path})
	if err != nil {
		t.Fatal(err)
	}
	e2e.Execute(t, db.SQL(), "CREATE TABLE kept (n INT)")
	e2e.Execute(t, db.SQL(), "INSERT INTO kept VALUES (1)")
	shell := func(script string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "sh", "-e", "-c", script, "sh", path).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	shell(`sqlite3 "$1" ".backup '$1.copy'"`)
	e2e.Execute(t, db.SQL(), "UPDATE kept SET n = 2")
	shell(`rm "$1-wal" "$1-shm"; cp "$1.copy" "$1"; sqlite3 "$1" "UPDATE kept SET n = 3"`)
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	if n := shell(`sqlite3 "$1" "SELECT n FROM kept"`); n != "3\n" {
		t.Errorf("%q, want what was committed last", n)
	}
}
