//go:build unix

package testenv_test

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

func TestDatabaseIsFreshAndDropped(t *testing.T) {
	for _, c := range []struct {
		name    string
		open    func(testing.TB) string
		mariaDB bool
	}{
		{"MySQL", testenv.MySQL, false},
		{"MariaDB", testenv.MariaDB, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var first, second string
			t.Run("one", func(t *testing.T) {
				first, second = c.open(t), c.open(t)
				if first == second {
					t.Fatalf("two calls share the database %s", first)
				}
				db := connect(t, first)
				if _, err := db.ExecContext(t.Context(), "CREATE TABLE t (id BIGINT PRIMARY KEY)"); err != nil {
					t.Fatal(err)
				}
				var version string
				if err := db.QueryRowContext(t.Context(), "SELECT VERSION()").Scan(&version); err != nil {
					t.Fatal(err)
				}
				if strings.Contains(version, "MariaDB") != c.mariaDB {
					t.Errorf("%s is really %s", c.name, version)
				}
				if n := tables(t, connect(t, second)); n != 0 {
					t.Errorf("the second database has %d tables, want none", n)
				}
			})
			if first == "" {
				return // the subtest was skipped
			}
			for _, dsn := range []string{first, second} {
				if err := connect(t, dsn).PingContext(t.Context()); err == nil {
					t.Errorf("%s is still there after its test", dsn)
				}
			}
		})
	}
}

func connect(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func tables(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	const query = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()"
	if err := db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
