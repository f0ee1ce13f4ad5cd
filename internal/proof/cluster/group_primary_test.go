//go:build unix

package cluster_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/cluster"
)

const before = "SET SESSION group_replication_consistency = 'BEFORE'"

func (g *group) lateByTableLock(t *testing.T) {
	primary, late := g.Nodes[0], g.Nodes[1]
	g.applied(t, late)
	release := g.hold(t, primary, late)
	must(t, primary.Exec(t.Context(), "UPDATE flakepass.account SET v = 1 WHERE id = 1"))

	says(t, connect(t, late), "SELECT @@session.group_replication_consistency", "BEFORE_ON_PRIMARY_FAILOVER")
	for _, consistency := range []string{"EVENTUAL", "AFTER", "BEFORE_ON_PRIMARY_FAILOVER"} {
		says(t, connect(t, late, "SET SESSION group_replication_consistency = '"+consistency+"'"), theValue, "0")
	}
	if state, err := g.State(t.Context(), late); err != nil || state != "ONLINE" {
		t.Errorf("state %s, %v; want ONLINE", state, err)
	}
	for _, consistency := range []string{"BEFORE", "BEFORE_AND_AFTER"} {
		// The session ends after a second in which it does nothing, too.
		waits := func() querier {
			return connect(t, late, "SET SESSION group_replication_consistency = '"+consistency+"', wait_timeout = 1, max_execution_time = 10")
		}
		refuses(t, waits(), theValue, 3797)
		refuses(t, waits(), theValue+" FOR SHARE NOWAIT", 3797)
		_, err := waits().ExecContext(t.Context(), "START TRANSACTION")
		fails(t, err, "START TRANSACTION", 3797)
		says(t, waits(), "SELECT 1", "1")
	}
	plain := connect(t, late)
	says(t, plain, "SELECT /*+ SET_VAR(group_replication_consistency = 'BEFORE') */ v FROM account WHERE id = 1", "0")
	begun := connect(t, late, "START TRANSACTION", "SELECT v FROM account")
	_, err := begun.ExecContext(t.Context(), before)
	fails(t, err, "in a transaction", 1766)

	position, err := primary.Text(t.Context(), "SELECT @@global.gtid_executed")
	must(t, err)
	says(t, plain, "SELECT WAIT_FOR_EXECUTED_GTID_SET('"+position+"', 0.1)", "1") // not within that time
	release()
	says(t, connect(t, late, before), theValue, "1")
	says(t, plain, "SELECT WAIT_FOR_EXECUTED_GTID_SET('"+position+"', 60)", "0")
}

func (g *group) waitEndsWithContext(t *testing.T) {
	primary, late := g.Nodes[0], g.Nodes[1]
	waiting, other := connect(t, late, before), connect(t, late)
	release := g.hold(t, primary, late)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		var v int
		done <- waiting.QueryRowContext(ctx, theValue).Scan(&v)
	}()
	const running = "SELECT COUNT(*) FROM performance_schema.threads WHERE processlist_info = '" + theValue + "'"
	eventually(t, "the statement runs", func() bool { n, err := ask(other, running); return err == nil && n == "1" })
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("%v; want that it is cancelled", err)
	}
	says(t, other, running, "1")
	release()
	eventually(t, "the statement ends", func() bool { n, err := ask(other, running); return err == nil && n == "0" })
}

func (g *group) ordinary(t *testing.T) {
	must(t, g.Nodes[0].Exec(t.Context(), "CREATE USER plain@'127.0.0.1'", "GRANT ALL ON flakepass.* TO plain@'127.0.0.1'"))
	secondary := g.Nodes[1]
	g.applied(t, secondary)
	db := poolAs(t, "plain", secondary.Addr)
	conn, err := db.Conn(t.Context())
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	run(t, conn, before)
	says(t, conn, "SELECT @@session.group_replication_consistency", "BEFORE")
	says(t, conn, "SELECT CONCAT(@@global.super_read_only, @@global.offline_mode, @@global.group_replication_single_primary_mode)", "101")
	says(t, conn, "SELECT @@server_uuid <> '' AND @@global.gtid_executed <> ''", "1")
	refuses(t, conn, "SELECT member_state FROM performance_schema.replication_group_members LIMIT 1", 1142)
}

func (g *group) costs(t *testing.T) {
	for _, n := range g.Nodes[:2] {
		conn := connect(t, n)
		t.Log(n.Name)
		cost(t, conn, "SELECT 1", "SELECT 1")
		cost(t, conn, "a row by its key", theValue)
		cost(t, conn, "@@super_read_only, @@server_uuid", "SELECT CONCAT(@@global.super_read_only, @@server_uuid)")
		cost(t, conn, "replication_group_members", "SELECT member_state FROM performance_schema.replication_group_members WHERE member_id = @@server_uuid")
		cost(t, conn, "@@gtid_executed", "SELECT @@global.gtid_executed")
		run(t, conn, before)
		cost(t, conn, "BEFORE", theValue)
	}
}

// The proxy ends connections to the old primary. Straight ones stay.
func (g *group) switched(t *testing.T) {
	old, next := g.Nodes[0], g.Nodes[1]
	addr, err := g.Behind(within(t))
	must(t, err)
	db := pool(t, addr)
	eventually(t, "the proxy leads to the primary", func() bool { return db.PingContext(t.Context()) == nil })
	proxied, err := db.Conn(t.Context())
	must(t, err)
	t.Cleanup(func() { _ = proxied.Close() })
	run(t, proxied, "UPDATE account SET v = 1 WHERE id = 2")

	straight, open := connect(t, old), connect(t, old, "START TRANSACTION", "UPDATE account SET v = 1 WHERE id = 1")
	switched := make(chan error, 1)
	go func() { switched <- g.Switch(context.Background(), next) }()
	beside := connect(t, next)
	eventually(t, "the switch has begun", func() bool {
		n, err := ask(beside, "SELECT COUNT(*) FROM performance_schema.threads WHERE processlist_info LIKE 'SELECT group_replication_set_as_primary%'")
		return err == nil && n == "1"
	})
	run(t, open, "COMMIT")
	must(t, <-switched)
	eventually(t, "the old primary is read-only", func() bool {
		answer, err := ask(straight, "SELECT @@global.super_read_only")
		return err == nil && answer == "1"
	})
	says(t, straight, theValue, "1")
	_, err = straight.ExecContext(t.Context(), "UPDATE account SET v = 2 WHERE id = 1")
	fails(t, err, "a change on the old primary", 1290)
	eventually(t, "the proxy ends the connection", func() bool { return proxied.PingContext(t.Context()) != nil })
	eventually(t, "the proxy leads to the new primary", func() bool {
		_, err := db.ExecContext(t.Context(), "UPDATE account SET v = 3 WHERE id = 1")
		return err == nil
	})
	must(t, g.Switch(within(t), old))
}

func (g *group) minority(t *testing.T) {
	primary := g.primary(t)
	plain, writer := connect(t, primary), connect(t, primary)
	others := slices.DeleteFunc(slices.Clone(g.Nodes), func(n *cluster.Node) bool { return n == primary })
	for _, n := range others {
		must(t, n.Pause())
	}
	eventually(t, "the others are unreachable", func() bool {
		n, err := ask(plain, "SELECT COUNT(*) FROM performance_schema.replication_group_members WHERE member_state = 'UNREACHABLE'")
		return err == nil && n == "2"
	})
	says(t, plain, "SELECT CONCAT(@@global.super_read_only, @@global.read_only, @@global.offline_mode)", "000")
	says(t, plain, theValue, "0")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { _, err := writer.ExecContext(ctx, "UPDATE account SET v = 1 WHERE id = 1"); done <- err }()
	eventually(t, "the change is under way", func() bool {
		n, err := ask(plain, "SELECT COUNT(*) FROM performance_schema.threads WHERE processlist_info LIKE 'UPDATE account%' AND processlist_state = 'waiting for handler commit'")
		return err == nil && n == "1"
	})
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("%v; want that it is cancelled", err)
	}
	says(t, plain, theValue, "0")
	for _, n := range others {
		must(t, n.Resume())
	}
	eventually(t, "the change is committed", func() bool { v, err := ask(plain, theValue); return err == nil && v == "1" })
}

func (g *group) stoodStill(t *testing.T) {
	old := g.Nodes[0]
	plain, writer := connect(t, old), connect(t, old)
	must(t, old.Pause())
	eventually(t, "another is primary", func() bool {
		next, err := g.Primary(t.Context(), g.Nodes[1])
		return err == nil && next != old && next.Exec(t.Context(), "UPDATE flakepass.account SET v = 1 WHERE id = 1") == nil
	})
	read, written := make(chan string, 1), make(chan error, 1)
	go func() {
		answer, err := ask(plain, "SELECT CONCAT(v, @@global.super_read_only) FROM account WHERE id = 1")
		if err != nil {
			t.Error(err)
		}
		read <- answer
	}()
	go func() {
		_, err := writer.ExecContext(context.Background(), "UPDATE account SET v = 9 WHERE id = 2")
		written <- err
	}()
	must(t, old.Resume())
	t.Logf("the value, and whether it is read-only, when it goes on: %s", <-read)
	if err := <-written; err == nil {
		t.Error("a change was acknowledged")
	} else {
		t.Log(err)
	}
	must(t, g.Await(within(t), 3))
	says(t, connect(t, old, before), "SELECT CONCAT(v, @@global.super_read_only) FROM account WHERE id = 1", "11")
	says(t, connect(t, old, before), "SELECT v FROM account WHERE id = 2", "0")
}
