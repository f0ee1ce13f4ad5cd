//go:build unix

package cluster_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/cluster"
	"github.com/flakepass/flakepass/internal/proof/testenv/faultproxy"
)

// What a design may rest on with a source and a replica that takes its place, seen on
// MySQL 9.7. Each line is shown by the subtest of that name.
//
//	a commit waits for the replica
//	  Without limit, if so configured. Nobody sees it meanwhile. Who gives up gets
//	  no answer, and the change is committed once the replica is back.
//	a source that was replaced
//	  It is not read-only, says that it is semi-synchronous, and plain reads go on. A
//	  change is never acknowledged: that alone tells it from the one that took its place.
//	  What it had acknowledged the new one has: the position that was read at the old one
//	  (gtid_executed) is a part of its own. So an ordinary user can ask.
//	costs: as a row by its key.
func TestSemiSynchronousPair(t *testing.T) {
	p := &pair{cluster.Start(t, func(ctx context.Context) (*cluster.Pair, error) { return cluster.StartPair(ctx, true) })}
	p.prepare(t)
	t.Run("a commit waits for the replica", p.commitWaits)
	t.Run("costs", p.costs)
	t.Run("a source that was replaced", p.replaced)
}

// The same without waiting for the replica.
//
//	a late replica: says that it is read-only, and answers with its old view.
//	commits that are lost
//	  After the source was killed a connection through the proxy fails at once. The replica
//	  that takes its place does not say that it lacks what was acknowledged. The position
//	  that was read at the old one tells: it is no part of the new one's.
//	a source that comes back
//	  It is not read-only, has what was lost, and lacks what was done since: its position
//	  tells that too.
//	a store and a logout that is lost: the instance ends the session again that the new
//	server takes for alive.
//	a switch in good order: loses nothing, and open connections go on to read.
func TestAsynchronousPair(t *testing.T) {
	p := &pair{cluster.Start(t, func(ctx context.Context) (*cluster.Pair, error) { return cluster.StartPair(ctx, false) })}
	p.prepare(t)
	t.Run("a late replica", p.lateReplica)
	t.Run("commits that are lost", p.lost)
	t.Run("a source that comes back", p.back)

	p = &pair{cluster.Start(t, func(ctx context.Context) (*cluster.Pair, error) { return cluster.StartPair(ctx, false) })}
	p.prepare(t)
	t.Run("a switch in good order", p.switched)

	p = &pair{cluster.Start(t, func(ctx context.Context) (*cluster.Pair, error) { return cluster.StartPair(ctx, false) })}
	t.Run("a store and a logout that is lost", p.storeLost)
}

type pair struct{ *cluster.Pair }

const (
	myPosition = "SELECT @@global.gtid_executed"
	theRows    = "SELECT GROUP_CONCAT(id ORDER BY id) FROM account"
)

func (p *pair) prepare(t *testing.T) {
	t.Helper()
	must(t, p.Source.Exec(t.Context(), "CREATE TABLE flakepass.account (id INT PRIMARY KEY, v INT NOT NULL)", "INSERT INTO flakepass.account VALUES (1, 0)",
		"CREATE USER plain@'127.0.0.1'", "GRANT ALL ON flakepass.* TO plain@'127.0.0.1'"))
	must(t, p.CatchUp(within(t)))
}

// position is what a server has executed.
func position(t *testing.T, n *cluster.Node) string {
	t.Helper()
	have, err := n.Text(t.Context(), myPosition)
	must(t, err)
	return have
}

// has fails the test unless a server has all of a position, or lacks some, as an
// ordinary user can ask.
func has(t *testing.T, n *cluster.Node, position, want string) {
	t.Helper()
	says(t, poolAs(t, "plain", n.Addr), "SELECT GTID_SUBSET('"+position+"', @@global.gtid_executed)", want)
}

func (p *pair) commitWaits(t *testing.T) {
	plain, writer := connect(t, p.Source), connect(t, p.Source)
	p.Link.Cut(faultproxy.Both)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { _, err := writer.ExecContext(ctx, "INSERT INTO account VALUES (2, 0)"); done <- err }()
	p.waiting(t, "INSERT INTO account VALUES (2, 0)")
	says(t, plain, theRows, "1")
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("%v; want that it is cancelled", err)
	}
	says(t, plain, theRows, "1")
	p.Link.Heal()
	eventually(t, "the change is committed", func() bool { rows, err := ask(plain, theRows); return err == nil && rows == "1,2" })
}

// waiting waits until the statement waits for the replica.
func (p *pair) waiting(t *testing.T, statement string) {
	t.Helper()
	eventually(t, "the change waits for the replica", func() bool {
		state, err := p.Source.Text(t.Context(), "SELECT MAX(processlist_state) FROM performance_schema.threads WHERE processlist_info = '"+statement+"'")
		return err == nil && state == "Waiting for semi-sync ACK from replica"
	})
}

func (p *pair) replaced(t *testing.T) {
	must(t, p.CatchUp(within(t)))
	acknowledged := position(t, p.Source)
	plain, writer := connect(t, p.Source), connect(t, p.Source)
	p.Link.Cut(faultproxy.Both)
	must(t, p.Promote(within(t)))
	must(t, p.Replica.Exec(t.Context(), "INSERT INTO flakepass.account VALUES (3, 0)"))

	has(t, p.Replica, acknowledged, "1")
	says(t, plain, theRows, "1,2")
	says(t, plain, "SELECT CONCAT(@@global.read_only, @@global.super_read_only)", "00")
	says(t, plain, "SHOW STATUS LIKE 'Rpl_semi_sync_source_status'", "ON")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { _, err := writer.ExecContext(ctx, "INSERT INTO account VALUES (4, 0)"); done <- err }()
	p.waiting(t, "INSERT INTO account VALUES (4, 0)")
	cancel()
	if err := <-done; err == nil {
		t.Error("a source that was replaced has acknowledged a change")
	}
	says(t, connect(t, p.Replica), theRows, "1,2,3")
}

func (p *pair) costs(t *testing.T) {
	conn := connect(t, p.Source)
	cost(t, conn, "a row by its key", theValue)
	cost(t, conn, "@@read_only, @@server_uuid", "SELECT CONCAT(@@global.read_only, @@server_uuid)")
	cost(t, conn, "@@gtid_executed", myPosition)
	cost(t, conn, "Rpl_semi_sync_source_status", "SHOW STATUS LIKE 'Rpl_semi_sync_source_status'")
	cost(t, conn, "a subset of the position", "SELECT GTID_SUBSET('"+position(t, p.Source)+"', @@global.gtid_executed)")
	began := time.Now()
	const times = 50
	for range times {
		run(t, conn, "UPDATE account SET v = v + 1 WHERE id = 1")
	}
	t.Logf("%-40s %v", "a change of one row", (time.Since(began) / times).Round(time.Microsecond))
}

func (p *pair) lateReplica(t *testing.T) {
	must(t, p.Replica.Exec(t.Context(), "STOP REPLICA SQL_THREAD"))
	must(t, p.Source.Exec(t.Context(), "UPDATE flakepass.account SET v = 1 WHERE id = 1"))
	late := connect(t, p.Replica)
	says(t, late, theValue, "0")
	says(t, late, "SELECT @@global.super_read_only", "1")
	must(t, p.Replica.Exec(t.Context(), "START REPLICA SQL_THREAD"))
	must(t, p.CatchUp(within(t)))
	says(t, late, theValue, "1")
}

func (p *pair) lost(t *testing.T) {
	addr, err := p.Behind(within(t))
	must(t, err)
	db := pool(t, addr)
	eventually(t, "the proxy leads to the source", func() bool { return db.PingContext(t.Context()) == nil })
	open, err := db.Conn(t.Context())
	must(t, err)
	t.Cleanup(func() { _ = open.Close() })
	p.Link.Cut(faultproxy.Both)
	run(t, open, "INSERT INTO account VALUES (2, 0)")
	acknowledged := position(t, p.Source)

	must(t, p.Source.Kill())
	if err := open.PingContext(t.Context()); err == nil {
		t.Error("a connection to a server that was killed answers")
	}
	must(t, p.Promote(within(t)))
	eventually(t, "the proxy leads to the new source", func() bool {
		_, err := db.ExecContext(t.Context(), "INSERT INTO account VALUES (3, 0)")
		return err == nil
	})
	says(t, db, theRows, "1,3")
	says(t, db, "SELECT CONCAT(@@global.read_only, @@global.super_read_only)", "00")
	has(t, p.Replica, acknowledged, "0")
}

func (p *pair) back(t *testing.T) {
	must(t, p.Source.Restart(within(t)))
	says(t, connect(t, p.Source), theRows, "1,2")
	says(t, connect(t, p.Source), "SELECT @@global.read_only", "0")
	has(t, p.Source, position(t, p.Replica), "0")
}

func (p *pair) switched(t *testing.T) {
	straight := connect(t, p.Source)
	run(t, straight, "INSERT INTO account VALUES (2, 0)")
	acknowledged := position(t, p.Source)
	must(t, p.Switch(within(t)))
	must(t, p.Replica.Exec(t.Context(), "INSERT INTO flakepass.account VALUES (3, 0)"))
	says(t, connect(t, p.Replica), theRows, "1,2,3")
	has(t, p.Replica, acknowledged, "1")
	says(t, straight, theRows, "1,2")
	_, err := straight.ExecContext(t.Context(), "INSERT INTO account VALUES (4, 0)")
	fails(t, err, "a change on the old source", 1290)
}
