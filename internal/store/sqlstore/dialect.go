package sqlstore

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"

	"github.com/go-sql-driver/mysql"

	"github.com/flakepass/flakepass/migrations"
)

// A dialect is what MySQL and SQLite say differently, as pieces of SQL.
type dialect struct {
	name migrations.Dialect
	// clock is that of the server that answers, in Unix milliseconds.
	clock string
	// now is the clock of the deployment: clock, or what the server of an instance
	// that polls has shown, if that is later. So an end that is stamped on one server
	// is not earlier than what a poll on another one has reached. It reads a table, and
	// would lock it in a DELETE: there, clock is used.
	now     string
	max     string // the larger of its arguments
	forRead string // locks the rows that a transaction reads
	// forShare keeps others from changing the rows that a transaction reads. MariaDB
	// knows no other spelling.
	forShare string
	// shareNow is forShare that fails at once where it would wait, with an error
	// that lockedNow knows. It is empty for SQLite.
	shareNow string
	// skipLocked is forRead for those rows only that no other transaction has locked.
	skipLocked string
	// readOnly is 1 on a server that takes no writes from ordinary users, as a replica
	// should be, and 0 on any other.
	readOnly string
	// server is the name of the server that answers. No two servers of a deployment
	// have the same: where one replicates another, their server_ids differ, and the
	// nodes of a Galera cluster, which may share one, differ in host or port.
	server string
}

const (
	mysqlClock  = "CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)"
	sqliteClock = "CAST(unixepoch('subsec') * 1000 AS INTEGER)"
)

var (
	mysqlDialect = dialect{
		name: migrations.MySQL, max: "GREATEST", forRead: " FOR UPDATE", forShare: " LOCK IN SHARE MODE", skipLocked: " FOR UPDATE SKIP LOCKED",
		shareNow: " FOR SHARE NOWAIT",
		clock:    mysqlClock,
		now:      "GREATEST(" + mysqlClock + ", (SELECT COALESCE(MAX(polled_at), 0) FROM polls))",
		// The variable is a boolean. In newer MariaDBs it is a word, of which several
		// mean that the server is read-only. Every user may read it. A reader of Amazon
		// Aurora has the other one.
		readOnly: "(CAST(@@global.read_only AS CHAR) NOT IN ('0', 'OFF') OR @@global.innodb_read_only)",
		server:   "CONCAT(@@hostname, ':', @@port, ':', @@server_id)",
	}
	// A SQLite transaction holds the one write lock from its start (_txlock).
	sqliteDialect = dialect{
		name: migrations.SQLite, max: "MAX",
		clock: sqliteClock, now: sqliteClock,
		readOnly: "0", server: "''",
	}
)

// mariaDBShareNow is shareNow in MariaDB's spelling. Neither knows that of the other.
const mariaDBShareNow = " LOCK IN SHARE MODE NOWAIT"

// lockedNow reports that a statement with shareNow failed because another
// transaction holds a lock. err must be the error of that statement: MariaDB gives
// the same number when a statement that waits for a lock has waited too long.
func lockedNow(err error) bool {
	const (
		mySQL   = 3572
		mariaDB = 1205
	)
	e, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && (e.Number == mySQL || e.Number == mariaDB)
}

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
