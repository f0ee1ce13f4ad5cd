package sqlstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/go-sql-driver/mysql"
)

// A refusal is what the number of an error of MySQL, MariaDB or a proxy in front of
// them means for its caller. Several may hold.
type refusal uint8

const (
	passes     refusal = 1 << iota // it ends by itself
	readOnly                       // the server takes no writes
	lostRace                       // the transaction was undone because of another one
	decidesNo                      // the server takes no part in the decisions of its cluster
	badRow                         // what is in a row, or in a trigger on it
	unprepared                     // a prepared statement was not run, and its text may be
	schema                         // a table or a column is missing
	full                           // it has no connection for one more client
)

// refusals has the numbers. SQLSTATE has too few classes to tell these apart.
var refusals = map[uint16]refusal{
	1020: lostRace,                        // MariaDB: the row changed since it was read
	1040: passes | full,                   // too many connections
	1047: passes | decidesNo | unprepared, // a node of Galera that has lost the others, or has not caught up; a proxy that does not know the command
	1053: passes | decidesNo,              // shutting down
	1054: badRow | schema,                 // no such column
	1077: passes,                          // shutting down
	1079: passes,                          // shut down
	1146: badRow | schema,                 // no such table
	1180: passes | lostRace,               // not committed: Group Replication, or a node of Galera that loses the others
	1203: passes | full,                   // too many connections of the user
	1205: passes | badRow,                 // waited too long for the lock of a row
	1213: passes | lostRace,               // deadlock; in Galera also at COMMIT
	1226: passes | full,                   // too many connections of the account
	1243: unprepared,                      // a proxy has led the statement to another server than its preparation
	1290: passes | readOnly,               // read-only
	1295: unprepared,                      // it cannot be prepared
	1305: badRow,                          // no such function
	1317: passes,                          // the statement was killed
	1461: unprepared,                      // max_prepared_stmt_count
	1615: unprepared,                      // the tables change too often
	1792: passes | readOnly,               // a read-only transaction
	1836: passes | readOnly,               // read-only
	1927: passes,                          // MariaDB: the connection was killed
	2002: passes,                          // a proxy finds no server
	2003: passes,                          // a proxy cannot connect
	2006: passes,                          // a proxy has lost its server
	2013: passes,                          // a proxy has lost its server
	3032: passes,                          // offline
	3100: passes | decidesNo,              // a primary of Group Replication that is one no more
	3101: passes | lostRace,               // Group Replication, at COMMIT
	3169: passes | decidesNo,              // the session was killed
	3819: badRow,                          // a check, in MySQL
	4025: badRow,                          // a check, in MariaDB
	9001: passes,                          // ProxySQL has no server
}

// means reports whether err is of a server, and means that.
func means(err error, what refusal) bool {
	refused, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && refusals[refused.Number]&what != 0
}

// ErrReadOnly means that the server takes no writes.
var ErrReadOnly = errors.New("the server takes no writes (read_only is on): it is a replica, or a primary that was replaced; name the address of the server that takes them")

// A refusedWrite is what a server said that takes no writes, which is [ErrReadOnly]. It is
// [driver.ErrBadConn] too: nothing has happened, and database/sql gives the connection up and
// asks once more on another one, which may lead to the server that takes writes now.
type refusedWrite struct{ said error }

func (e refusedWrite) Error() string   { return ErrReadOnly.Error() + ": " + e.said.Error() }
func (e refusedWrite) Unwrap() []error { return []error{ErrReadOnly, driver.ErrBadConn, e.said} }

// Undecided reports that the server takes no part in the decisions of its cluster.
func Undecided(err error) bool { return means(err, decidesNo) }

// Full reports that the server has no connection for one more client, or for one more of this user.
func Full(err error) bool { return means(err, full) }

// Lacking reports that a table or a column is missing.
func Lacking(err error) bool {
	const sqliteError = 1 // of the text of a statement
	return means(err, schema) || SQLiteCode(err) == sqliteError
}

// Writable returns [ErrReadOnly] if the server that answers takes no writes from ordinary
// users. A replica does not, nor should a primary that was replaced.
func (db *DB) Writable(ctx context.Context) error {
	var readOnly bool
	if err := db.sql.QueryRowContext(ctx, "SELECT "+db.d.readOnly).Scan(&readOnly); err != nil {
		return fmt.Errorf("sqlstore: ask whether the server takes writes: %w", err)
	}
	if readOnly {
		return ErrReadOnly
	}
	return nil
}

// MayPass reports that waiting may mend an error of a database server. It does not mend a
// refused user, an unknown database or a certificate. A name that does not resolve may be
// that of a server that is to start.
func MayPass(err error) bool {
	if _, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return means(err, passes)
	}
	// What TLS says, it says as an error of the network.
	if op, ok := errors.AsType[*net.OpError](err); ok && (op.Op == "remote error" || op.Op == "local error") {
		return false
	}
	for _, lost := range []error{ErrReadOnly, driver.ErrBadConn, mysql.ErrInvalidConn, io.EOF, io.ErrUnexpectedEOF} {
		if errors.Is(err, lost) {
			return true
		}
	}
	_, ok := errors.AsType[net.Error](err)
	return ok
}
