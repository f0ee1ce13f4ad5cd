//go:build unix

package migrations_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	_ "modernc.org/sqlite"

	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/migrations"
)

// childFile makes the test binary a process that migrates the SQLite file named
// there, and childDSN the MySQL database, and says how many migrations it has applied.
const (
	childFile = "FLAKEPASS_MIGRATIONS_TEST_FILE"
	childDSN  = "FLAKEPASS_MIGRATIONS_TEST_DSN"
)

func TestMain(m *testing.M) {
	child := database{migrations.SQLite, "sqlite", sqliteDSN(os.Getenv(childFile))}
	if dsn := os.Getenv(childDSN); dsn != "" {
		child = database{migrations.MySQL, "mysql", dsn}
	} else if os.Getenv(childFile) == "" {
		os.Exit(m.Run())
	}
	if err := child.migrate(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// migrate is what the process does.
func (d database) migrate() error {
	db, err := sql.Open(d.driver, d.dsn)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	applied, err := migrations.Up(context.Background(), db, d.dialect, nil)
	_, _ = fmt.Fprintln(os.Stdout, len(applied))
	return err
}

func sqliteDSN(file string) string {
	return "file:" + file + "?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=foreign_keys(1)"
}

// A database is empty and belongs to one test. Each call of open is another
// instance's pool.
type database struct {
	dialect migrations.Dialect
	driver  string
	dsn     string
}

func (d database) open(t testing.TB) *sql.DB {
	t.Helper()
	db, err := sql.Open(d.driver, d.dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// kinds are the databases that flakepass runs on. The DSNs are plain ones: the
// migrations need no option of a driver.
var kinds = map[string]func(testing.TB) database{
	"SQLite": func(t testing.TB) database {
		t.Helper()
		return database{migrations.SQLite, "sqlite", sqliteDSN(filepath.Join(t.TempDir(), "flakepass.db"))}
	},
	"MySQL": func(t testing.TB) database {
		t.Helper()
		return database{migrations.MySQL, "mysql", testenv.MySQL(t)}
	},
	"MariaDB": func(t testing.TB) database {
		t.Helper()
		return database{migrations.MySQL, "mysql", testenv.MariaDB(t)}
	},
}

// onEach runs the test on every kind of database.
func onEach(t *testing.T, test func(t *testing.T, d database)) {
	t.Helper()
	for name, fresh := range kinds {
		t.Run(name, func(t *testing.T) { test(t, fresh(t)) })
	}
}

func mustUp(t testing.TB, db *sql.DB, d migrations.Dialect) []migrations.Applied {
	t.Helper()
	applied, err := migrations.Up(t.Context(), db, d, nil)
	if err != nil {
		t.Fatal(err)
	}
	return applied
}

func mustExec(t testing.TB, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func count(t testing.TB, db *sql.DB, table string) int {
	t.Helper()
	var n int
	if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+table).Scan(&n); err != nil {
		t.Fatalf("%s: %v", table, err)
	}
	return n
}
