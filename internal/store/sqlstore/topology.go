package sqlstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
)

// A server is what a MySQL or MariaDB server says of itself: those of its variables
// that the promise depends on, by their names.
type server map[string]string

// asked are the variables of a [server]. One that a product does not know is missing
// in the answer, and no privilege is needed to ask.
const asked = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('hostname', 'port', 'server_id', 'version', 'version_comment', 'innodb_rollback_on_timeout', 'log_bin', 'binlog_format', " +
	"'wsrep_on', 'group_replication_group_name', 'group_replication_single_primary_mode', " +
	"'rpl_semi_sync_source_enabled', 'rpl_semi_sync_master_enabled')"

// name is what dialect.server reads.
func (s server) name() string { return s["hostname"] + ":" + s["port"] + ":" + s["server_id"] }

func (s server) mariaDB() bool { return strings.Contains(s["version"], "MariaDB") }

// galera reports whether the server is a node of a Galera cluster, where every node
// takes writes.
func (s server) galera() bool { return on(s["wsrep_on"]) }

// member reports whether the server is set up for Group Replication.
func (s server) member() bool { return s["group_replication_group_name"] != "" }

// several reports whether another server may take the place of this one and nothing that
// was acknowledged is lost. Of an asynchronous replica that cannot be said.
func (s server) several() bool {
	return s.galera() || s.member() || on(s["rpl_semi_sync_source_enabled"]) || on(s["rpl_semi_sync_master_enabled"])
}

func on(value string) bool { return value == "1" || strings.EqualFold(value, "ON") }

// An UnfitError says why the promise cannot be kept on a database server, and what to
// change. No setting of a session can make up for it.
type UnfitError struct{ Why string }

func (e *UnfitError) Error() string {
	return "the database server cannot keep the promise: " + e.Why + " (docs/databases.md)"
}

// unfit returns an [*UnfitError] if the promise cannot be kept on this server.
func (s server) unfit() error {
	for _, product := range []string{"TiDB", "Vitess"} {
		if strings.Contains(s["version"]+" "+s["version_comment"], product) {
			return &UnfitError{product + " is not supported: its locking reads are not those of InnoDB"}
		}
	}
	switch {
	case s.tooOld():
		return &UnfitError{"version " + s["version"] + " is too old; it needs MySQL 8.0 or MariaDB 10.6, which know SKIP LOCKED"}
	case s.mariaDB() && on(s["innodb_rollback_on_timeout"]):
		// A transaction that is undone when a statement has waited too long for a lock
		// would release a row that is being judged.
		return &UnfitError{"innodb_rollback_on_timeout is ON; start it with OFF, which is the default"}
	case on(s["log_bin"]) && strings.EqualFold(s["binlog_format"], "STATEMENT"):
		// A session may not change it without a privilege, and InnoDB refuses each write of a READ COMMITTED transaction.
		return &UnfitError{"binlog_format is STATEMENT, which allows no writes in READ COMMITTED; " +
			"set it to ROW (SET GLOBAL binlog_format = 'ROW', and in the file of the server's settings)"}
	case s.member() && !on(s["group_replication_single_primary_mode"]):
		return &UnfitError{"its Group Replication has several primaries; " +
			"switch it to one with SELECT group_replication_switch_to_single_primary_mode()"}
	}
	return nil
}

func (s server) tooOld() bool {
	var major, minor int
	if _, err := fmt.Sscanf(strings.TrimPrefix(s["version"], "5.5.5-"), "%d.%d", &major, &minor); err != nil {
		return false // the version says something else; the statements will show
	}
	if s.mariaDB() {
		return major < 10 || major == 10 && minor < 6
	}
	return major < 8
}

// session are the statements that make reads of a session as fresh as the promise
// needs, whatever the server has as its default.
//
// Both databases READ COMMITTED: a statement reads what is committed at its time, not
// at the time of its transaction, and keeps no locks on rows that it only looked at.
// MySQL and MariaDB have different names for the variable that says so, and the same
// statement. READ WRITE is for a server whose default is a read-only transaction.
//
// A node of Galera applies the changes of the others later than they are acknowledged.
// wsrep_sync_wait makes SELECT and BEGIN (1), UPDATE and DELETE (2), INSERT and REPLACE
// (4) wait until it has applied what was committed anywhere before. A node that has lost
// the others refuses reads, unless wsrep_dirty_reads is on.
// A new primary of Group Replication may not yet have applied what the old one committed;
// BEFORE_ON_PRIMARY_FAILOVER holds reads until it has. It is the default, and no
// server may have another one. BEFORE would wait on secondaries too, and cost each
// statement a round trip of the group; but a secondary is read-only and decides nothing.
func (s server) session() []string {
	list := []string{"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE"}
	switch {
	case s.galera():
		list = append(list, "SET SESSION wsrep_sync_wait = 7, SESSION wsrep_dirty_reads = OFF")
	case s.member():
		list = append(list, "SET SESSION group_replication_consistency = 'BEFORE_ON_PRIMARY_FAILOVER'")
	}
	return list
}

// askServer asks the server behind a connection.
func askServer(ctx context.Context, conn driver.QueryerContext) (_ server, err error) {
	rows, err := conn.QueryContext(ctx, asked, nil)
	if err != nil {
		return nil, fmt.Errorf("ask the server for its variables: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	s := server{}
	for {
		row := make([]driver.Value, 2)
		switch err := rows.Next(row); {
		case errors.Is(err, io.EOF):
			return s, nil
		case err != nil:
			return nil, err
		}
		s[text(row[0])] = text(row[1])
	}
}

func text(v driver.Value) string {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return fmt.Sprint(v)
}
