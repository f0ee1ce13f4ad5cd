//go:build unix

package cluster_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/cluster"
)

func (g *galera) uncommittedElsewhere(t *testing.T) {
	writer := connect(t, g.Nodes[0], "BEGIN", "UPDATE account SET v = 1 WHERE id = 1")
	uncommitted := "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED"
	says(t, connect(t, g.Nodes[0], uncommitted), theValue, "1")
	says(t, connect(t, g.Nodes[1], uncommitted, "SET SESSION wsrep_sync_wait = 15"), theValue, "0")
	run(t, writer, "ROLLBACK")
}

func (g *galera) conflict(t *testing.T) {
	for _, c := range []struct {
		name, held, next string
	}{
		{"a change, at its COMMIT", "UPDATE account SET v = 5 WHERE id = 1", "COMMIT"},
		{"a change, at the next statement", "UPDATE account SET v = 5 WHERE id = 1", "SELECT 1 FROM account"},
		{"a lock for a change, at its COMMIT", theValue + " FOR UPDATE", "COMMIT"},
		{"a share lock, at the next statement", theValue + " LOCK IN SHARE MODE", "UPDATE account SET v = 5 WHERE id = 2"},
	} {
		holder := connect(t, g.Nodes[1], "BEGIN", c.held)
		must(t, g.Nodes[0].Exec(t.Context(), "UPDATE flakepass.account SET v = v + 1 WHERE id = 1"))
		g.applied(t, g.Nodes[1])
		_, err := holder.ExecContext(t.Context(), c.next)
		fails(t, err, c.name, 1213)
		run(t, holder, "ROLLBACK")
	}
}

// applied waits until a node has applied what the first one has.
func (g *galera) applied(t *testing.T, n *cluster.Node) {
	t.Helper()
	position := status(t, g.Nodes[0], "wsrep_last_committed")
	eventually(t, n.Name+" has applied all", func() bool { return status(t, n, "wsrep_last_committed") >= position })
}

// Both commits are under way before either node applies that of the other.
func (g *galera) sameMoment(t *testing.T) {
	disable := func(other string) []string {
		return []string{"SELECT v FROM account WHERE id IN (1, 2) FOR UPDATE", "UPDATE account SET v = v + 1 WHERE id = " + other}
	}
	guarded := func(statements []string) []string {
		return append(statements, "UPDATE guard SET revision = revision + 1 WHERE id = 1")
	}
	shared := func(statements []string) []string {
		return append([]string{"SELECT revision FROM guard WHERE id = 1 LOCK IN SHARE MODE"}, statements...)
	}
	for _, c := range []struct {
		name string
		one  []string
		two  []string
		lost int
	}{
		{"each locks both rows and changes the other", disable("1"), disable("2"), 0},
		{"and both lock a guard", shared(disable("1")), shared(disable("2")), 0},
		{"and both change a guard", guarded(disable("1")), guarded(disable("2")), 1},
	} {
		one, two := connect(t, g.Nodes[0], "BEGIN"), connect(t, g.Nodes[1], "BEGIN")
		for i, tx := range []*sql.Conn{one, two} {
			for _, statement := range [][]string{c.one, c.two}[i] {
				run(t, tx, statement)
			}
		}
		release := g.hold(t, g.Nodes[2], g.Nodes[0], g.Nodes[1])
		done := make(chan error, 2)
		for i, tx := range []*sql.Conn{one, two} {
			n := g.Nodes[i]
			go func() { _, err := tx.ExecContext(context.Background(), "COMMIT"); done <- err }()
			eventually(t, "the commit is under way", func() bool {
				waiting, err := n.Text(t.Context(), "SELECT COUNT(*) FROM information_schema.processlist WHERE info = 'COMMIT' AND state = 'Waiting for certification'")
				return err == nil && waiting == "1"
			})
		}
		release()
		lost := 0
		for range 2 {
			if err := <-done; err != nil {
				fails(t, err, c.name, 1213)
				lost++
			}
		}
		if lost != c.lost {
			t.Errorf("%s: %d of two did not commit; want %d", c.name, lost, c.lost)
		}
	}
}

func (g *galera) uniqueNames(t *testing.T) {
	one := connect(t, g.Nodes[0], "BEGIN", "INSERT INTO account VALUES (11, 0, 'same', 0)")
	two := connect(t, g.Nodes[1], "BEGIN", "INSERT INTO account VALUES (12, 0, 'same', 0)")
	run(t, one, "COMMIT")
	_, err := two.ExecContext(t.Context(), "COMMIT")
	fails(t, err, "the second name", 1213)
	g.applied(t, g.Nodes[1])
	_, err = two.ExecContext(t.Context(), "INSERT INTO account VALUES (12, 0, 'same', 0)")
	fails(t, err, "the second name again", 1062)
}

func (g *galera) namedLocks(t *testing.T) {
	for _, n := range g.Nodes[:2] {
		says(t, connect(t, n), "SELECT GET_LOCK('migration', 0)", "1")
	}
	results := make(chan error, 2)
	for _, n := range g.Nodes[:2] {
		conn := connect(t, n)
		go func() {
			_, err := conn.ExecContext(context.Background(), "CREATE TABLE both_make (id INT PRIMARY KEY)")
			results <- err
		}()
	}
	one, two := <-results, <-results
	if one == nil {
		one, two = two, one
	}
	fails(t, one, "the second CREATE TABLE", 1050)
	must(t, two)
}
