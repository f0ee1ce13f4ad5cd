//go:build unix

package cluster_test

import (
	"context"
	"database/sql"
	"testing"
)

// lostRace are the errors of who meets the change of another member.
var lostRace = []uint16{1180, 3101, 1213}

func (g *group) conflicts(t *testing.T) {
	const rounds = 20
	both := 0
	for _, guarded := range []bool{true, false} {
		for range rounds {
			done := make(chan error, 2)
			var txs []*sql.Conn
			for i, n := range g.Nodes[:2] {
				txs = append(txs, connect(t, n, "START TRANSACTION", "SELECT v FROM account WHERE id IN (1, 2) FOR UPDATE",
					"UPDATE account SET v = v + 1 WHERE id = "+string(rune('1'+i))))
			}
			for _, tx := range txs {
				go func() {
					var err error
					if guarded {
						_, err = tx.ExecContext(context.Background(), "UPDATE guard SET revision = revision + 1 WHERE id = 1")
					}
					if err == nil {
						_, err = tx.ExecContext(context.Background(), "COMMIT")
					}
					done <- err
				}()
			}
			lost := 0
			for range 2 {
				if err := <-done; err != nil {
					fails(t, err, "a conflict", lostRace...)
					lost++
				}
			}
			if lost == 0 {
				both++
			}
			for _, n := range g.Nodes {
				g.applied(t, n)
			}
		}
		if guarded && both > 0 {
			t.Errorf("both of two committed a change of the guard, %d times", both)
		}
	}
	t.Logf("without a guard both of two committed in %d of %d rounds", both, rounds)
}

func (g *group) uniqueNames(t *testing.T) {
	one := connect(t, g.Nodes[0], "START TRANSACTION", "INSERT INTO account VALUES (11, 0, 'same')")
	two := connect(t, g.Nodes[1], "START TRANSACTION", "INSERT INTO account VALUES (12, 0, 'same')")
	run(t, one, "COMMIT")
	_, err := two.ExecContext(t.Context(), "COMMIT")
	fails(t, err, "the second name", lostRace...)
	g.applied(t, g.Nodes[1])
	_, err = connect(t, g.Nodes[1]).ExecContext(t.Context(), "INSERT INTO account VALUES (12, 0, 'same')")
	fails(t, err, "the second name again", 1062)
}

func (g *group) namedLocks(t *testing.T) {
	for _, n := range g.Nodes[:2] {
		says(t, connect(t, n), "SELECT GET_LOCK('migration', 0)", "1")
	}
}

func (g *group) tables(t *testing.T) {
	release := g.hold(t, g.Nodes[2], g.Nodes[0], g.Nodes[1])
	for _, n := range g.Nodes[:2] {
		run(t, connect(t, n), "CREATE TABLE both_make (id INT PRIMARY KEY)")
	}
	release()
	eventually(t, "a member is thrown out", func() bool {
		for _, n := range g.Nodes {
			if state, err := g.State(t.Context(), n); err == nil && state != "ONLINE" {
				return true
			}
		}
		return false
	})
}
