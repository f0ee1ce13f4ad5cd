//go:build unix

package sqlstore_test

import (
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/flakepass/flakepass/internal/store/sqlstore"
	"github.com/flakepass/flakepass/migrations"
)

func TestMySQLSource(t *testing.T) {
	for _, c := range []struct{ url, user, password, addr, name string }{
		{"mysql://ada:secret@db:3307/pass", "ada", "secret", "db:3307", "pass"},
		{"mysql://ada:secret@db/pass", "ada", "secret", "db:3306", "pass"},
		{"mysql://ada:secret@db:/pass", "ada", "secret", "db:3306", "pass"},
		{"mysql://ada@db/pass", "ada", "", "db:3306", "pass"},
		{"mysql://ada:%40%3A%2F%25%3F%23%26%20%28%29@db/pass", "ada", "@:/%?#& ()", "db:3306", "pass"},
		{"mysql://ada:a+b$c!d*e'f;g,h=i@db/pass", "ada", "a+b$c!d*e'f;g,h=i", "db:3306", "pass"},
		{"mysql://a%40b:%E2%82%AC@db/pass", "a@b", "€", "db:3306", "pass"},
		{"mysql://ada:secret@[::1]:3307/pass", "ada", "secret", "[::1]:3307", "pass"},
		{"mysql://ada:secret@[::1]/pass", "ada", "secret", "[::1]:3306", "pass"},
		{"mysql://ada:secret@[fe80::1%25eth0]/pass", "ada", "secret", "[fe80::1%eth0]:3306", "pass"},
		{"mysql://ada:secret@127.0.0.1:3306/a-b$c_d", "ada", "secret", "127.0.0.1:3306", "a-b$c_d"},
		{"mysql://ada:secret@db/pass?connectionAttributes=a:b/c&maxAllowedPacket=0", "ada", "secret", "db:3306", "pass"},
	} {
		dsn, err := sqlstore.MySQLSource(c.url)
		if err != nil {
			t.Errorf("%s: %v", c.url, err)
			continue
		}
		got, err := mysql.ParseDSN(dsn)
		if err != nil {
			t.Errorf("%s became a DSN that is none: %v", c.url, err)
			continue
		}
		if got.User != c.user || got.Passwd != c.password || got.Net != "tcp" || got.Addr != c.addr || got.DBName != c.name {
			t.Errorf("%s: %q %q %q %q %q", c.url, got.User, got.Passwd, got.Net, got.Addr, got.DBName)
		}
		fixed(t, got)
	}
}

// Whatever the URL asks for, the statements get what they count on.
func TestMySQLSourceOverridesWhatContradicts(t *testing.T) {
	for _, params := range []string{
		"clientFoundRows=false", "multiStatements=true", "interpolateParams=false", "charset=gbk", "charset=gbk&interpolateParams=true",
		"collation=utf8mb4_general_ci", "columnsWithAlias=true", "parseTime=false", "loc=Asia/Shanghai", "loc=Asia%2FShanghai", "rejectReadOnly=true",
		"autocommit=0", "AutoCommit=0", "SQL_MODE=%27%27", "sql_mode=%27NO_BACKSLASH_ESCAPES%27", "time_zone=%27%2B05:00%27",
		"innodb_lock_wait_timeout=50", "sql_safe_updates=1", "sql_select_limit=1", "transaction_isolation=%27SERIALIZABLE%27",
	} {
		dsn, err := sqlstore.MySQLSource("mysql://ada:secret@db/pass?" + params)
		if err != nil {
			t.Errorf("%s: %v", params, err)
			continue
		}
		got, err := mysql.ParseDSN(dsn)
		if err != nil {
			t.Fatal(err)
		}
		fixed(t, got)
	}
}

func fixed(t *testing.T, c *mysql.Config) {
	t.Helper()
	if !c.ClientFoundRows || !c.InterpolateParams || c.MultiStatements || c.RejectReadOnly || c.ColumnsWithAlias || !c.ParseTime ||
		c.Loc != time.UTC || c.Collation != "utf8mb4_bin" || c.Timeout <= 0 || c.ReadTimeout <= 0 || c.WriteTimeout <= 0 {
		t.Errorf("a setting is not as the statements need it: %s", c.FormatDSN())
	}
	if !strings.Contains(c.FormatDSN(), "charset=utf8mb4&") {
		t.Errorf("the character set is another: %s", c.FormatDSN())
	}
	seen := map[string]string{}
	for name, value := range c.Params {
		if _, twice := seen[strings.ToLower(name)]; twice {
			t.Errorf("%s is set twice", name)
		}
		seen[strings.ToLower(name)] = value
	}
	if seen["autocommit"] != "1" || seen["innodb_lock_wait_timeout"] != "2" || seen["time_zone"] != "'+00:00'" ||
		seen["sql_safe_updates"] != "0" || seen["sql_select_limit"] != "18446744073709551615" ||
		!strings.Contains(seen["sql_mode"], "TRADITIONAL") {
		t.Errorf("variables: %v", seen)
	}
}

func TestMySQLSourceErrorsShowNothing(t *testing.T) {
	const secret = "hunter2"
	for _, text := range []string{
		"", "mysql", "mysql:", "mysql://", "mysql:///pass", secret, "mysql://:3306/pass", "postgres://ada:hunter2@db/pass", "ada:hunter2@tcp(db)/pass",
		"mysql://ada:hunter2%@db/pass", "mysql://ada:hunter2#x@db/pass", "mysql://ada:hunter2/x@db/pass", "mysql://ada:1?parseTime=hunter2@db/pass",
		"mysql://ada:1?hunter2@db/pass", "mysql://ada:hunter2@db:port/pass", "mysql://a%3Ab:hunter2@db/pass", "mysql://ada:hunter2@db/pass?tls=nosuch",
		"mysql://ada:hunter2@db/pass?parseTime=maybe", "mysql://ada:hunter2@db/pass?timeout=1",
	} {
		dsn, err := sqlstore.MySQLSource(text)
		if err == nil {
			t.Errorf("%q became a DSN without an error", strings.ReplaceAll(text, secret, "…"))
		} else if strings.Contains(err.Error(), secret) || dsn != "" {
			t.Errorf("%q: the error shows the password: %v", text, err)
		}
	}
	for _, text := range []string{"ada:hunter2", "hunter2/x@tcp(db)", "ada:hun/hunter2@tcp(db)", "ada:x/y?parseTime=hunter2"} {
		if _, err := sqlstore.MySQLSourceDSN(text); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%q: %v; want an error that shows nothing", text, err)
		}
		_, err := sqlstore.Open(t.Context(), sqlstore.Options{Dialect: migrations.MySQL, Source: text})
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("Open of %q: %v; want an error that shows nothing", text, err)
		}
	}
	_, err := sqlstore.Open(t.Context(), sqlstore.Options{Dialect: migrations.MySQL, Source: "ada:hunter2@tcp(127.0.0.1:1)/pass"})
	if err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("Open where nobody listens: %v", err)
	}
	if _, err := sqlstore.Open(t.Context(), sqlstore.Options{Dialect: "oracle", Source: secret}); err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("Open of a database that there is not: %v", err)
	}
}

func FuzzMySQLSource(f *testing.F) {
	for _, seed := range []string{
		"mysql://ada:secret@db:3306/pass?tls=true", "mysql://a:%40%2F@[::1]/x?charset=gbk&autocommit=0", "mysql://a%3Ab:c@d/e",
		"mysql://a:b@c/d?x=1/2&y=%2F", "mysql://@h/n", "mysql://u@h/", "mysql://:p@h/n", "mysql://a@b:/c?d", "mysql://a:b@(c)/d(e)", "mysql://h/%2F%3F", "mysql://0@]/0",
		"mysql://a:b@c/d?strict=1", "mysql://a:b@c/d?timeout=-1s", "mysql://a:b@c/d?readTimeout=1ns&writeTimeout=1h&timeTruncate=1us", "mysql://a:b@[fe80::1%25eth0]:3307/x",
		"mysql://a:b@c/d?tls=preferred&compress=1&maxAllowedPacket=-1&loc=Local", "mysql://a:b@c/d?connectionAttributes=a:b%2Fc&=x&\xff=1",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		dsn, err := sqlstore.MySQLSource(text)
		if err != nil {
			if dsn != "" {
				t.Fatalf("a DSN and an error: %v", err)
			}
			return
		}
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := mysql.ParseDSN(dsn)
		if err != nil {
			t.Fatalf("%q is not a DSN: %v", dsn, err)
		}
		password, _ := u.User.Password()
		host, _, err := net.SplitHostPort(got.Addr)
		if err != nil || host != u.Hostname() || got.User != u.User.Username() || got.Passwd != password ||
			got.DBName != strings.TrimPrefix(u.Path, "/") || got.Net != "tcp" {
			t.Fatalf("%q became %q", text, dsn)
		}
		fixed(t, got)
	})
}

// What counts is what the server says, once connected.
func TestSessionsOfTheServerAreAsTheStatementsNeed(t *testing.T) {
	for _, kind := range kinds[1:] {
		t.Run(kind.name, func(t *testing.T) {
			o := kind.options(t)
			prefix := "transaction"
			if kind.name == "MariaDB" {
				prefix = "tx"
			}
			o.Source += "&" + prefix + "_isolation=%27SERIALIZABLE%27&" + prefix + "_read_only=1"
			db := open(t, o).SQL()
			var level, zone, collation string
			var autocommit, wait, only int
			err := db.QueryRowContext(t.Context(), "SELECT @@"+prefix+"_isolation, @@"+prefix+"_read_only, @@time_zone, @@collation_connection, @@autocommit, @@innodb_lock_wait_timeout").
				Scan(&level, &only, &zone, &collation, &autocommit, &wait)
			if err != nil || level != "READ-COMMITTED" || only != 0 || zone != "+00:00" || collation != "utf8mb4_bin" || autocommit != 1 || wait != 2 {
				t.Errorf("%s %d %s %s %d %d, %v", level, only, zone, collation, autocommit, wait, err)
			}
		})
	}
}

func TestSQLiteFilesOfAnyName(t *testing.T) {
	for _, name := range []string{
		"plain.db", "with space.db", "what?.db", "what?mode=memory", "a#b.db", "100%.db", "%41.db", "a&b=c.db", "ä😀.db", "a;b.db", "a+b.db",
		"file:x.db", ":memory:", "a\"b'.db", `a\b.db`,
	} {
		dir := t.TempDir()
		for _, path := range []string{filepath.Join(dir, name), "/" + filepath.Join(dir, "2"+name)} {
			db := open(t, sqlstore.Options{Dialect: migrations.SQLite, Source: path})
			if _, err := db.SQL().ExecContext(t.Context(), "CREATE TABLE t (id INTEGER)"); err != nil {
				t.Errorf("%q: %v", path, err)
			}
			if info, err := os.Stat(path); err != nil || info.IsDir() {
				t.Errorf("%q is not where the database is: %v", path, err)
			}
			if err := db.Close(); err != nil {
				t.Errorf("%q: %v", path, err)
			}
		}
		if files, err := os.ReadDir(dir); err != nil || len(files) != 2 {
			t.Errorf("%q: %d files were made, %v", name, len(files), err)
		}
	}
}

// A commit that was acknowledged is on the disk. SQLite before 3.51.3 can lose
// it when the write-ahead log begins anew beside a checkpoint.
func TestSQLiteIsSetToKeepWhatItAcknowledged(t *testing.T) {
	w := newWorld(t, kinds[0].options(t))
	var version string
	if err := w.SQL().QueryRowContext(t.Context(), "SELECT sqlite_version()").Scan(&version); err != nil {
		t.Fatal(err)
	}
	if older(version, 3, 51, 3) {
		t.Errorf("SQLite is %s; the least is 3.51.3", version)
	}
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1"} {
		var got string
		if err := w.SQL().QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %q, %v; want %q", pragma, got, err, want)
		}
	}
}
