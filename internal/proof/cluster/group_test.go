//go:build unix

package cluster_test

import (
	"context"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/cluster"
)

// What a design may rest on in a group with one primary, and what not, seen on MySQL
// 9.7. Each line is shown by the subtest of that name.
//
//	migrations on the primary: as in a Galera cluster.
//	late by a table lock
//	  A secondary that applies nothing is ONLINE, and answers plain reads with its old view.
//	  group_replication_consistency BEFORE and BEFORE_AND_AFTER wait, also before START
//	  TRANSACTION and FOR SHARE NOWAIT; EVENTUAL, AFTER and BEFORE_ON_PRIMARY_FAILOVER,
//	  which is the default, do not. The wait ends with 3797 after the wait_timeout
//	  of the session (8 hours), and not with max_execution_time.
//	  It can be set for a session only, not in a transaction (1766) and not by a hint.
//	  WAIT_FOR_EXECUTED_GTID_SET waits for a position, and has a limit of its own.
//	a wait ends with its context: at once for the caller; the server waits on.
//	what an ordinary user may see
//	  The session may be set, and @@super_read_only, @@server_uuid and @@gtid_executed be
//	  read. The table of members is refused (1142).
//	a switch of the primary
//	  It waits for open transactions, which commit. Connections stay: they go on to read,
//	  with a view that may be late from now on, and a change is 1290. A proxy that
//	  asks for the writer ends them.
//	a primary without a majority
//	  It is not read-only and not offline, plain reads go on, and only the table of members
//	  has the others as UNREACHABLE. A change waits without limit, and is committed
//	  when the others are back, also if nobody waits for it any more.
//	a primary that stood still
//	  The others elect another, which commits. When the old one goes on, what was sent to it
//	  meanwhile is answered before it knows: it says that it is not read-only. A change
//	  is refused (3100) or never acknowledged. Then it is read-only, and joins again.
//
// One group is started for all of it.
func TestGroupWithOnePrimary(t *testing.T) {
	g := &group{cluster.Start(t, func(ctx context.Context) (*cluster.Group, error) { return cluster.StartGroup(ctx, false) })}
	g.prepare(t)
	for _, c := range []struct {
		name string
		test func(*group, *testing.T)
	}{
		{"migrations on the primary", (*group).migrateOnThePrimary},
		{"late by a table lock", (*group).lateByTableLock},
		{"a wait ends with its context", (*group).waitEndsWithContext},
		{"what an ordinary user may see", (*group).ordinary},
		{"costs", (*group).costs},
		{"costs of a store", func(g *group, t *testing.T) { storeCosts(t, "mysql", g.primary(t)) }},
		{"a switch of the primary", (*group).switched},
		{"a primary that stood still", (*group).stoodStill},
		{"a list of a primary that stood still", (*group).storeStoodStill},
		{"a primary without a majority", (*group).minority},
		{"a store on a primary without a majority", (*group).storeMinority},
		{"a store in a group that gets several primaries", (*group).storeUnfit},
	} {
		t.Run(c.name, func(t *testing.T) {
			primary := g.primary(t)
			must(t, primary.Exec(t.Context(), "REPLACE INTO flakepass.account VALUES (1, 0, 'a'), (2, 0, 'b')"))
			c.test(g, t)
			must(t, g.Await(within(t), 3))
		})
	}
}

// Of a group in which all members write, on MySQL 9.7.
//
//	conflicts
//	  Of two that change one row on two members one commits. The other has 3101 or 1180 at
//	  COMMIT, or 1213 at a statement before.
//	unique names: hold over members, with the same errors and then 1062.
//	named locks: GET_LOCK is each member's own.
//	tables: two that make the same table at the same moment both succeed, and then a member
//	  is thrown out of the group.
//
// One group is started for all of it.
func TestGroupWithSeveralPrimaries(t *testing.T) {
	g := &group{cluster.Start(t, func(ctx context.Context) (*cluster.Group, error) { return cluster.StartGroup(ctx, true) })}
	g.prepare(t)
	for _, c := range []struct {
		name string
		test func(*group, *testing.T)
	}{
		{"conflicts", (*group).conflicts},
		{"unique names", (*group).uniqueNames},
		{"named locks", (*group).namedLocks},
		{"tables", (*group).tables}, // and then the group is not whole
	} {
		t.Run(c.name, func(t *testing.T) {
			must(t, g.Nodes[0].Exec(t.Context(), "REPLACE INTO flakepass.account VALUES (1, 0, 'a'), (2, 0, 'b')"))
			c.test(g, t)
		})
	}
}

type group struct{ *cluster.Group }

func (g *group) prepare(t *testing.T) {
	t.Helper()
	must(t, g.Await(within(t), 3))
	must(t, g.Nodes[0].Exec(t.Context(), "CREATE TABLE flakepass.account (id INT PRIMARY KEY, v INT NOT NULL, name VARCHAR(20) UNIQUE)",
		"CREATE TABLE flakepass.guard (id INT PRIMARY KEY, revision INT NOT NULL)", "INSERT INTO flakepass.guard VALUES (1, 0)",
		"CREATE TABLE flakepass.held (id INT PRIMARY KEY, v INT NOT NULL)", "INSERT INTO flakepass.held VALUES (1, 0)"))
	for _, n := range g.Nodes {
		g.applied(t, n)
	}
}

func (g *group) primary(t *testing.T) *cluster.Node {
	t.Helper()
	var primary *cluster.Node
	eventually(t, "there is a primary", func() (ok bool) {
		var err error
		primary, err = g.Primary(t.Context(), g.Nodes[0])
		return err == nil
	})
	return primary
}

// applied waits until a member has applied what the first one has.
func (g *group) applied(t *testing.T, n *cluster.Node) {
	t.Helper()
	have, err := g.Nodes[0].Text(t.Context(), "SELECT @@global.gtid_executed")
	must(t, err)
	left, err := n.Text(within(t), "SELECT WAIT_FOR_EXECUTED_GTID_SET(?, 60)", have)
	if err != nil || left != "0" {
		t.Fatalf("%s has not applied %s: %v", n.Name, have, err)
	}
}

// hold makes members commit nothing of others any more, until release: somebody
// there has locked a table, and a change of it is due.
func (g *group) hold(t *testing.T, writer *cluster.Node, late ...*cluster.Node) (release func()) {
	t.Helper()
	ends := make([]func(), 0, len(late))
	for _, n := range late {
		holder := connect(t, n, "LOCK TABLES held READ")
		ends = append(ends, func() { run(t, holder, "UNLOCK TABLES") })
	}
	must(t, writer.Exec(t.Context(), "UPDATE flakepass.held SET v = v + 1"))
	for _, n := range late {
		eventually(t, n.Name+" is held up", func() bool {
			waiting, err := n.Text(t.Context(), "SELECT COUNT(*) FROM performance_schema.metadata_locks WHERE lock_status = 'PENDING' AND object_name = 'held'")
			return err == nil && waiting != "0"
		})
	}
	return func() {
		for _, end := range ends {
			end()
		}
	}
}
