//go:build unix

package cluster_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/cluster"
)

// What a design may rest on, and what not, seen on MariaDB 10.11 with galera-4 26.4.
// Each line is shown by the subtest of that name.
//
//	migrations on each node, and across the nodes: three instances of flakepass start at
//	  once on an empty schema, and each migration is applied by one.
//	migrations and a late node: it is waited for, and not taken for one that lacks them.
//	late by a table lock
//	  A node that applies nothing says Synced, Primary and ready, and answers plain reads,
//	  locking reads too, with its old view.
//	  wsrep_sync_wait with its lowest bit (1, 7, 15) waits, also before START TRANSACTION,
//	  LOCK IN SHARE MODE NOWAIT and SKIP LOCKED. If the node does not get there
//	  within repl.causal_read_timeout (30 s; set globally only), the error is 1205, which
//	  is also what NOWAIT says. max_statement_time does not end the wait.
//	  2 waits before UPDATE and DELETE, 4 before INSERT, 8 before SHOW only.
//	  In a transaction that has begun nothing waits any more.
//	  SET STATEMENT wsrep_sync_wait = 1 FOR SELECT waits in one round trip.
//	  WSREP_SYNC_WAIT_UPTO_GTID(position, seconds) waits, and has a limit of its own.
//	  A change of an old row waits, without limit, and is done once more if it is a
//	  transaction by itself (wsrep_retry_autocommit). A compare-and-set that finds no row in
//	  the old view changes nothing, and nothing says so, unless bit 2 is set.
//	late by a global read lock: the same, but the node says Donor/Desynced.
//	late by a long transaction: a thousand rows without a key make a node late by a second.
//	a wait ends with its context: at once for the caller; the server waits on.
//	uncommitted elsewhere: READ UNCOMMITTED sees nothing of another node.
//	a conflict
//	  Whoever holds a lock that the applier needs has 1213 at the next statement or at
//	  COMMIT: also a SELECT, also of other rows.
//	commits at the same moment
//	  Two that only lock the same rows, for a change or shared, both commit. Of two
//	  that change one row one commits, and the other has 1213.
//	unique names: hold over nodes; the second has 1213 at COMMIT, and then 1062.
//	named locks and tables: GET_LOCK is each node's own. CREATE TABLE is not: one of two has 1050.
//	a node that is desynchronised: says so, and is as fresh as it was.
//	what an ordinary user may set
//	  wsrep_sync_wait, and all that is needed can be read. wsrep_on = OFF needs SUPER; what
//	  is written so nobody else has, no state says it, and no wait helps.
//	clocks: NOW() stays as the clock of the node said that wrote it.
//	a partition
//	  A node that is cut off finds out after some six seconds. Until then plain reads have the
//	  old view and the status says Primary. Reads that wait are answered by the node
//	  alone for up to a second, while nothing of its own is under way, and then fail (1205);
//	  the others cannot commit before they have excluded it, after five. So here, where
//	  both sides find out at the same time, nothing that was read was old. A COMMIT waits
//	  and fails with 1180: nothing of it is anywhere.
//	  Then tables are 1047, but SELECT 1, a ping, @@read_only and the status go on, and
//	  so does every table with wsrep_dirty_reads.
//	a node that stood still
//	  The others exclude it and commit. When it goes on, what was sent to it meanwhile is
//	  answered before it knows: plain reads have the old view. Reads that wait were
//	  never seen to, and might, for a node with nothing under way asks nobody.
//	  A change fails: only that is a proof.
//	a killed node: its connections fail at once, and what it had acknowledged the next one has.
//	costs: a status variable is ten times a row by its key; the wait is not measurable on
//	  loopback while nothing is written.
//
// One cluster is started for all of it.
func TestGalera(t *testing.T) {
	g := &galera{cluster.Start(t, func(ctx context.Context) (*cluster.Galera, error) { return cluster.StartGalera(ctx, true) })}
	must(t, g.Await(within(t), 3))
	first := g.Nodes[0]
	must(t, first.Exec(t.Context(), "CREATE TABLE flakepass.account (id INT PRIMARY KEY, v INT NOT NULL, name VARCHAR(20) UNIQUE, at BIGINT)",
		"CREATE TABLE flakepass.guard (id INT PRIMARY KEY, revision INT NOT NULL)",
		"CREATE TABLE flakepass.held (id INT PRIMARY KEY, v INT NOT NULL)",
		"CREATE TABLE flakepass.many (v INT NOT NULL)"))
	for _, c := range []struct {
		name string
		test func(*galera, *testing.T)
	}{
		{"migrations on each node", (*galera).migrateOnEachNode},
		{"migrations across the nodes", (*galera).migrateAcrossNodes},
		{"migrations and a late node", (*galera).migrateBehind},
		{"late by a table lock", (*galera).lateByTableLock},
		{"late by a global read lock", (*galera).lateByGlobalLock},
		{"late by a long transaction", (*galera).lateByLongTransaction},
		{"a wait ends with its context", (*galera).waitEndsWithContext},
		{"uncommitted elsewhere", (*galera).uncommittedElsewhere},
		{"a conflict", (*galera).conflict},
		{"commits at the same moment", (*galera).sameMoment},
		{"unique names", (*galera).uniqueNames},
		{"named locks and tables", (*galera).namedLocks},
		{"a node that is desynchronised", (*galera).desync},
		{"what an ordinary user may set", (*galera).ordinary},
		{"clocks", (*galera).clocks},
		{"a partition", (*galera).partition},
		{"a node that stood still", (*galera).stoodStill},
		{"a store on a late node", (*galera).storeLate},
		{"stores on nodes whose clocks differ", (*galera).storeClocks},
		{"stores and the last admin", (*galera).storeLastAdmin},
		{"a store and an actor whose login ends elsewhere", (*galera).storeActor},
		{"costs", (*galera).costs},
		{"costs of a store", func(g *galera, t *testing.T) { storeCosts(t, "mariadb", g.Nodes[0]) }},
		{"a killed node", (*galera).killed},
	} {
		t.Run(c.name, func(t *testing.T) {
			must(t, first.Exec(t.Context(), "REPLACE INTO flakepass.account VALUES (1, 0, 'a', 0), (2, 0, 'b', 0)",
				"REPLACE INTO flakepass.guard VALUES (1, 0)", "REPLACE INTO flakepass.held VALUES (1, 0)"))
			c.test(g, t)
			must(t, g.Await(within(t), 3))
		})
	}
}

type galera struct{ *cluster.Galera }

const theValue = "SELECT v FROM account WHERE id = 1"

// causalWait sets how long a node waits for what it has not applied.
func (g *galera) causalWait(t *testing.T, n *cluster.Node, seconds string) {
	t.Helper()
	set := func(wait string) error {
		return n.Exec(context.Background(), "SET GLOBAL wsrep_provider_options = 'repl.causal_read_timeout=PT"+wait+"S'")
	}
	must(t, set(seconds))
	t.Cleanup(func() { must(t, set("30")) }) // as it is by default
}

// hold makes a node apply nothing any more, until release, while it says that it is
// synced: somebody there has locked a table, and a change of it is due. Changes are
// applied in the order in which they are made, so those that follow wait as well.
func (g *galera) hold(t *testing.T, writer *cluster.Node, nodes ...*cluster.Node) (release func()) {
	t.Helper()
	var holders []*sql.Conn
	for _, n := range nodes {
		holders = append(holders, connect(t, n, "LOCK TABLES held READ"))
	}
	must(t, writer.Exec(t.Context(), "UPDATE flakepass.held SET v = v + 1"))
	return func() {
		for _, holder := range holders {
			run(t, holder, "UNLOCK TABLES")
		}
	}
}
