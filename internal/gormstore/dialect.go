package gormstore

import (
	"fmt"
	"net/url"
	"path/filepath"

	"github.com/flakepass/flakepass/migrations"
)

// A dialect is what MySQL and SQLite say differently, as pieces of SQL.
type dialect struct {
	name    migrations.Dialect
	now     string // the database's clock, in Unix milliseconds
	max     string // the larger of its arguments
	forRead string // locks the rows that a transaction reads
	// forShare keeps others from changing the rows that a transaction reads. MariaDB
	// knows no other spelling.
	forShare string
	// skipLocked is forRead for those rows only that nobody else has locked.
	skipLocked string
}

var (
	mysqlDialect = dialect{
		name: migrations.MySQL, max: "GREATEST", forRead: " FOR UPDATE", forShare: " LOCK IN SHARE MODE", skipLocked: " FOR UPDATE SKIP LOCKED",
		now: "CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)",
	}
	// A SQLite transaction holds the one write lock from its start (_txlock).
	sqliteDialect = dialect{
		name: migrations.SQLite, max: "MAX",
		now: "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
	}
)

// busyWait is how long SQLite waits at a time for a writer of another process.
// The end of a context does not cut that short; DB.inTurn asks again.
const busyWait = tau / 3

// sqliteSource is the DSN for a file. A commit is on the disk before it is
// acknowledged (synchronous=FULL), so neither kill -9 nor a power cut loses
// one.
func sqliteSource(path string) string {
	q := url.Values{
		"_txlock": {"immediate"},
		"_pragma": {fmt.Sprintf("busy_timeout(%d)", busyWait.Milliseconds()), "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)"},
	}
	// A path of two slashes would name a host.
	return "file:" + (&url.URL{Path: filepath.Clean(path)}).EscapedPath() + "?" + q.Encode()
}
