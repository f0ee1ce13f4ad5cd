//go:build unix

package chaos

import (
	"database/sql"
	"net/url"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/proof/testenv/migrated"
)

// A database is one on a MySQL or a MariaDB.
type database struct {
	addr, name string // host:port of the server, and the name on it
	user       *url.Userinfo
	db         *sql.DB
}

// url is the database as the configuration of an instance names it that reaches
// the server at that address.
func (d database) url(addr string) string {
	return (&url.URL{Scheme: "mysql", User: d.user, Host: addr, Path: "/" + d.name}).String()
}

// ownDatabase is that of a server that nothing else uses.
func ownDatabase(m *testenv.MySQLServer) database {
	return database{addr: m.Addr, name: m.Name, user: url.User("root"), db: m.DB()}
}

// sharedDatabase is a database with all tables, on a server that other tests use
// too.
func sharedDatabase(t testing.TB, migrated func(testing.TB) string) database {
	t.Helper()
	c, err := mysql.ParseDSN(migrated(t))
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("mysql", c.FormatDSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return database{addr: c.Addr, name: c.DBName, user: url.UserPassword(c.User, c.Passwd), db: db}
}

// A setting is what a promise is held to: the names of the subtests.
type setting struct {
	name   string
	recipe recipe
}

// shared are a MySQL with a Redis, and a MariaDB without.
var shared = []setting{
	{"mysql_redis", recipe{on: func(t testing.TB) database { t.Helper(); return sharedDatabase(t, migrated.MySQL) }}},
	{"mariadb", recipe{on: func(t testing.TB) database { t.Helper(); return sharedDatabase(t, migrated.MariaDB) }, noRedis: true}},
}

// onShared runs a test in each of these settings, with that many instances and a
// bound of two seconds.
func onShared(t *testing.T, instances int, f func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	for _, s := range shared {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.recipe.instances, s.recipe.bound = instances, promiseBound
			f(t, newWorld(t, s.recipe))
		})
	}
}

func (w *world) exec(t testing.TB, query string, args ...any) {
	t.Helper()
	if _, err := w.database.db.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// number is the number that a query answers with.
func (w *world) number(t testing.TB, query string, args ...any) (n int64) {
	t.Helper()
	if err := w.database.db.QueryRowContext(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// A stall makes every COMMIT on a server wait: semi-synchronous replication waits
// for a replica that there is not, before what was committed is visible.
type stall struct{ install, begin, end string }

var (
	mysqlStall = stall{
		"INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'",
		"SET GLOBAL rpl_semi_sync_source_timeout = 3600000, GLOBAL rpl_semi_sync_source_wait_point = 'AFTER_SYNC', " +
			"GLOBAL rpl_semi_sync_source_enabled = 1",
		"SET GLOBAL rpl_semi_sync_source_enabled = 0",
	}
	mariaDBStall = stall{
		"DO 1", // it is built in
		"SET GLOBAL rpl_semi_sync_master_timeout = 3600000, GLOBAL rpl_semi_sync_master_wait_point = 'AFTER_SYNC', " +
			"GLOBAL rpl_semi_sync_master_enabled = 1",
		"SET GLOBAL rpl_semi_sync_master_enabled = 0",
	}
)
