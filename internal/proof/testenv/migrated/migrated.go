//go:build unix

// Package migrated gives tests databases that have the newest schema already.
// The migrations run once for each kind of database in a test binary, and every
// further database is a copy of what they left, which is several times faster. The
// tests of package migrations are the ones that hold the migrations to their
// promises.
package migrated

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	_ "github.com/go-sql-driver/mysql" // what the databases are filled through
	_ "modernc.org/sqlite"             // the same

	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/migrations"
)

// A once is the work of the first test that needs it, which the others wait
// for. If that test fails, or is skipped, the next one does it.
type once[T any] struct {
	mu   sync.Mutex
	done *T
}

func (o *once[T]) get(make func() T) T {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.done == nil {
		made := make()
		o.done = &made
	}
	return *o.done
}

var file once[[]byte]

// SQLite is the path of a file with the newest schema, which goes with the test.
func SQLite(t testing.TB) string {
	t.Helper()
	content := file.get(func() []byte {
		path := filepath.Join(t.TempDir(), "template.db")
		db := open(t, "sqlite", "file:"+path)
		up(t, db, migrations.SQLite)
		if err := db.Close(); err != nil {
			t.Fatalf("migrated: %v", err)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatalf("migrated: %v", err)
		}
		return content
	})
	path := filepath.Join(t.TempDir(), "flakepass.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatalf("migrated: %v", err)
	}
	return path
}

var scripts struct{ mySQL, mariaDB once[[]string] }

// MySQL is [testenv.MySQL], with the newest schema in it.
func MySQL(t testing.TB) string { t.Helper(); return filled(t, testenv.MySQL, &scripts.mySQL) }

// MariaDB is [testenv.MariaDB], with the newest schema in it.
func MariaDB(t testing.TB) string { t.Helper(); return filled(t, testenv.MariaDB, &scripts.mariaDB) }

func filled(t testing.TB, empty func(testing.TB) string, o *once[[]string]) string {
	t.Helper()
	script := o.get(func() []string {
		db := open(t, "mysql", empty(t))
		defer func() { _ = db.Close() }()
		up(t, db, migrations.MySQL)
		return dump(t, db)
	})
	dsn := empty(t)
	db := open(t, "mysql", dsn)
	defer func() { _ = db.Close() }()
	for _, statement := range script {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("migrated: %s: %v", statement, err)
		}
	}
	return dsn
}

// dump is what makes the tables of a database, and their rows. It knows what
// the migrations use: tables with no foreign keys, and no view and no trigger.
func dump(t testing.TB, db *sql.DB) (script []string) {
	t.Helper()
	for _, table := range column(t, db, "SHOW TABLES") {
		var name, create string
		if err := db.QueryRowContext(t.Context(), "SHOW CREATE TABLE "+table).Scan(&name, &create); err != nil {
			t.Fatalf("migrated: %v", err)
		}
		script = append(script, create)
		// The server writes the rows down itself, as literals.
		columns := column(t, db, "SELECT column_name FROM information_schema.columns "+
			"WHERE table_schema = DATABASE() AND table_name = '"+table+"' ORDER BY ordinal_position")
		rows := column(t, db, "SELECT CONCAT_WS(',', QUOTE("+strings.Join(columns, "), QUOTE(")+")) FROM "+table)
		if len(rows) > 0 {
			script = append(script, "INSERT INTO "+table+" VALUES ("+strings.Join(rows, "), (")+")")
		}
	}
	return script
}

// column is the one column that a query answers with.
func column(t testing.TB, db *sql.DB, query string) (values []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("migrated: %s: %v", query, err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var value string
		if err := rows.Scan(&value); err != nil {
			t.Fatalf("migrated: %s: %v", query, err)
		}
		values = append(values, value)
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("migrated: %s: %v", query, err)
	}
	return values
}

func up(t testing.TB, db *sql.DB, d migrations.Dialect) {
	t.Helper()
	if _, err := migrations.Up(t.Context(), db, d, nil); err != nil {
		t.Fatalf("migrated: %v", err)
	}
}

func open(t testing.TB, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatalf("migrated: %v", err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}
