//go:build unix

package migrated_test

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/proof/testenv/migrated"
	"github.com/flakepass/flakepass/migrations"
)

// TestCopyIsWhatTheMigrationsMake compares the statements that make each table,
// and all rows, with those of a database that was migrated, and asks the
// program itself whether anything lacks. A copy belongs to one test.
func TestCopyIsWhatTheMigrationsMake(t *testing.T) {
	for _, kind := range []struct {
		name        string
		driver      string
		dialect     migrations.Dialect
		copy, empty func(testing.TB) string
	}{
		{"SQLite", "sqlite", migrations.SQLite, migrated.SQLite, func(t testing.TB) string { t.Helper(); return t.TempDir() + "/empty.db" }},
		{"MySQL", "mysql", migrations.MySQL, migrated.MySQL, testenv.MySQL},
		{"MariaDB", "mysql", migrations.MySQL, migrated.MariaDB, testenv.MariaDB},
	} {
		t.Run(kind.name, func(t *testing.T) {
			first := connect(t, kind.driver, kind.copy(t))
			if _, err := first.ExecContext(t.Context(), "DELETE FROM settings"); err != nil {
				t.Fatal(err)
			}
			second := connect(t, kind.driver, kind.copy(t))
			if err := migrations.Check(t.Context(), second, kind.dialect); err != nil {
				t.Error(err)
			}
			want := connect(t, kind.driver, kind.empty(t))
			if _, err := migrations.Up(t.Context(), want, kind.dialect, nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(content(t, want, kind.dialect), content(t, second, kind.dialect)); diff != "" {
				t.Errorf("-migrated +copied\n%s", diff)
			}
		})
	}
}

func connect(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// content is the statement that makes each table and index, and the rows of each
// table, without the time at which a migration was applied.
func content(t *testing.T, db *sql.DB, d migrations.Dialect) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	if d == migrations.SQLite {
		all["schema"] = lines(t, db, "SELECT name, sql FROM sqlite_master ORDER BY name")
		for _, table := range lines(t, db, "SELECT name FROM sqlite_master WHERE type = 'table'") {
			all[table] = rows(t, db, table)
		}
		return all
	}
	for _, table := range lines(t, db, "SHOW TABLES") {
		// MySQL shows whether a statement named the character set, which is that of
		// the table anyway.
		for _, create := range lines(t, db, "SHOW CREATE TABLE "+table) {
			all["schema"] = append(all["schema"], strings.ReplaceAll(create, " CHARACTER SET utf8mb4 COLLATE", " COLLATE"))
		}
		all[table] = rows(t, db, table)
	}
	return all
}

func rows(t *testing.T, db *sql.DB, table string) []string {
	t.Helper()
	columns := "*"
	switch table {
	case "flakepass_migrations":
		columns = "number"
	case "flakepass_migration_lease": // and how often it was taken
		columns = "owner"
	}
	return lines(t, db, "SELECT "+columns+" FROM "+table)
}

// lines is what a query answers with: the cells of a row with bars between them.
func lines(t *testing.T, db *sql.DB, query string) (all []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		cells, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		line := ""
		for i, cell := range cells {
			if i > 0 {
				line += "|"
			}
			if line += cell.String; !cell.Valid {
				line += "NULL"
			}
		}
		all = append(all, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 && query == "SELECT * FROM settings" {
		t.Error("there is no policy: it is the database of another test")
	}
	return all
}
