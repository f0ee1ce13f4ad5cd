//go:build unix

package migrations_test

import (
	"database/sql"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flakepass/flakepass/migrations"
)

// A schema is what a database says about its tables, in words that all of them
// share. The keys are table.column; an index is named by what it covers.
type schema struct {
	Columns map[string]column
	Indexes []string
}

type column struct {
	Type     string // integer, text or bytes
	Nullable bool
	Default  string
}

func TestSchemasAreEqualInMeaning(t *testing.T) {
	sqlite := kinds["SQLite"](t)
	lite := sqlite.open(t)
	mustUp(t, lite, sqlite.dialect)
	want := schemaOf(t, lite, sqlite.dialect)
	if len(want.Columns) < 71 || len(want.Indexes) < 17 { // else something was not looked at
		t.Fatalf("SQLite: %d columns and %d indexes were read", len(want.Columns), len(want.Indexes))
	}
	// A STRICT column takes only the type that the program sends, here a string.
	hash := want.Columns["users.password_hash"]
	if hash.Type != "text" {
		t.Errorf("SQLite: users.password_hash is %q", hash.Type)
	}
	hash.Type = "bytes"
	want.Columns["users.password_hash"] = hash

	for _, name := range []string{"MySQL", "MariaDB"} {
		t.Run(name, func(t *testing.T) {
			d := kinds[name](t)
			db := d.open(t)
			mustUp(t, db, d.dialect)
			if diff := cmp.Diff(schemaOf(t, db, d.dialect), want); diff != "" {
				t.Errorf("-%s +SQLite\n%s", name, diff)
			}
		})
	}
}

// Names and tokens compare byte by byte, and an interrupted write is undone:
// a table of another collation or engine would not.
func TestTablesAreBinaryAndInnoDB(t *testing.T) {
	for _, name := range []string{"MySQL", "MariaDB"} {
		t.Run(name, func(t *testing.T) {
			d := kinds[name](t)
			db := d.open(t)
			mustUp(t, db, d.dialect)
			for _, row := range texts(t, db, "SELECT table_name, engine FROM information_schema.tables WHERE table_schema = DATABASE()") {
				if row[1] != "InnoDB" {
					t.Errorf("table %s: engine %s", row[0], row[1])
				}
			}
			for _, row := range texts(t, db, "SELECT CONCAT(table_name, '.', column_name), collation_name "+
				"FROM information_schema.columns WHERE table_schema = DATABASE() AND collation_name IS NOT NULL") {
				if row[1] != "utf8mb4_bin" {
					t.Errorf("%s: collation %s", row[0], row[1])
				}
			}
		})
	}
}

// tablesOf lists all tables, schemaOf those with what the program keeps.
func tablesOf(t testing.TB, db *sql.DB, d migrations.Dialect) []string {
	t.Helper()
	query := "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()"
	if d == migrations.SQLite {
		query = "SELECT name FROM sqlite_master WHERE type = 'table'"
	}
	var out []string
	for _, row := range texts(t, db, query) {
		out = append(out, row[0])
	}
	return out
}

func schemaOf(t testing.TB, db *sql.DB, d migrations.Dialect) schema {
	t.Helper()
	columns := "SELECT CONCAT(table_name, '.', column_name), data_type, is_nullable, COALESCE(column_default, '') " +
		"FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name NOT LIKE 'flakepass\\_migration%'"
	indexes := "SELECT CONCAT(table_name, '(', GROUP_CONCAT(column_name ORDER BY seq_in_index), ')', IF(non_unique, '', ' unique')) " +
		"FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name NOT LIKE 'flakepass\\_migration%' " +
		"GROUP BY table_name, index_name, non_unique"
	if d == migrations.SQLite {
		tables := "FROM sqlite_master AS t JOIN "
		columns = "SELECT t.name || '.' || c.name, c.type, iif(c.\"notnull\", 'NO', 'YES'), coalesce(c.dflt_value, '') " +
			tables + "pragma_table_info(t.name) AS c WHERE t.type = 'table' AND t.name NOT LIKE 'flakepass_migration%'"
		// A rowid table has no index for its primary key: it is one.
		indexes = "SELECT t.name || '(' || group_concat(c.name) || ')' || iif(i.\"unique\", ' unique', '') " +
			tables + "pragma_index_list(t.name) AS i JOIN pragma_index_info(i.name) AS c " +
			"WHERE t.type = 'table' AND t.name NOT LIKE 'flakepass_migration%' GROUP BY t.name, i.name " +
			"UNION SELECT t.name || '(' || c.name || ') unique' " + tables +
			"pragma_table_info(t.name) AS c WHERE c.pk AND t.type = 'table' AND t.name NOT LIKE 'flakepass_migration%' " +
			"AND (SELECT COUNT(*) FROM pragma_table_info(t.name) WHERE pk) = 1" // one of several columns has an index
	}
	s := schema{Columns: map[string]column{}}
	for _, row := range texts(t, db, columns) {
		s.Columns[row[0]] = column{Type: typeClass(t, row[1]), Nullable: row[2] == "YES", Default: plain(row[3])}
	}
	for _, row := range texts(t, db, indexes) {
		s.Indexes = append(s.Indexes, row[0])
	}
	slices.Sort(s.Indexes)
	return s
}

func typeClass(t testing.TB, name string) string {
	t.Helper()
	switch strings.ToLower(name) {
	case "bigint", "int", "tinyint", "integer":
		return "integer"
	case "varchar", "text":
		return "text"
	case "varbinary", "blob":
		return "bytes"
	}
	t.Errorf("a column of type %q", name)
	return name
}

var quoted = regexp.MustCompile(`^'(.*)'$`)

// plain is a default without its quotes, which MySQL leaves out; MariaDB calls
// none NULL.
func plain(value string) string {
	if value == "NULL" {
		return ""
	}
	return quoted.ReplaceAllString(value, "$1")
}

func texts(t testing.TB, db *sql.DB, query string) [][]string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var out [][]string
	for rows.Next() {
		row := make([]string, len(names))
		into := make([]any, len(names))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		out = append(out, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}
