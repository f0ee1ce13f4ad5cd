//go:build unix

package cluster_test

import (
	"context"
	"errors"
	"testing"
	"time"
)

func (g *galera) lateByTableLock(t *testing.T) {
	late := g.Nodes[1]
	g.causalWait(t, late, "0.1")
	// Begun before it was late, so that it waits for nothing later.
	begun := connect(t, late, "BEGIN", "SET SESSION wsrep_sync_wait = 15")
	release := g.hold(t, g.Nodes[0], late)
	must(t, g.Nodes[0].Exec(t.Context(), "UPDATE flakepass.account SET v = 1, name = 'new' WHERE id = 1"))

	// Nothing says that the view is old.
	for _, setting := range []string{"0", "2", "4", "8"} {
		says(t, connect(t, late, "SET SESSION wsrep_sync_wait = "+setting), theValue, "0")
	}
	if state := status(t, late, "wsrep_local_state"); state != 4 {
		t.Errorf("state %d; want 4, synced", state)
	}
	for _, setting := range []string{"1", "7", "15"} {
		waiting := connect(t, late, "SET SESSION wsrep_sync_wait = "+setting)
		for _, lock := range []string{"", " LOCK IN SHARE MODE", " LOCK IN SHARE MODE NOWAIT", " FOR UPDATE SKIP LOCKED"} {
			refuses(t, waiting, theValue+lock, 1205)
		}
		_, err := waiting.BeginTx(t.Context(), nil)
		fails(t, err, "BEGIN", 1205)
		run(t, waiting, "SET SESSION max_statement_time = 0.05")
		refuses(t, waiting, theValue, 1205) // which would be 1969
	}
	plain := connect(t, late)
	refuses(t, plain, "SET STATEMENT wsrep_sync_wait = 1 FOR "+theValue, 1205)
	says(t, begun, theValue, "0")
	says(t, begun, theValue+" LOCK IN SHARE MODE", "0")
	run(t, begun, "ROLLBACK")

	// A change of a row that has changed elsewhere waits as long as the node is late. The
	// server then does it once more, if it is a transaction by itself. A change that
	// finds no row waits for nothing.
	old := connect(t, late)
	changed := make(chan error, 1)
	go func() {
		_, err := old.ExecContext(context.Background(), "UPDATE account SET v = 7 WHERE id = 1")
		changed <- err
	}()
	eventually(t, "the change is under way", func() bool {
		state, err := ask(plain, "SELECT state FROM information_schema.processlist WHERE info LIKE 'UPDATE account%'")
		return err == nil && state != ""
	})
	result, err := plain.ExecContext(t.Context(), "UPDATE account SET v = 7 WHERE name = 'new'")
	must(t, err)
	if rows, err := result.RowsAffected(); err != nil || rows != 0 {
		t.Errorf("%d rows, %v; want none", rows, err)
	}
	_, err = connect(t, late, "SET SESSION wsrep_sync_wait = 2").ExecContext(t.Context(), "UPDATE account SET v = 7 WHERE name = 'new'")
	fails(t, err, "an UPDATE that waits", 1205)

	position, err := g.Nodes[0].Text(t.Context(), "SELECT WSREP_LAST_SEEN_GTID()")
	must(t, err)
	upTo := func(seconds string) string {
		return "SELECT WSREP_SYNC_WAIT_UPTO_GTID('" + position + "', " + seconds + ")"
	}
	refuses(t, plain, upTo("1"), 1205)
	g.causalWait(t, late, "30")
	release()
	must(t, <-changed)
	says(t, connect(t, late, "SET SESSION wsrep_sync_wait = 1"), theValue, "7")
	says(t, plain, upTo("60"), "1")
}

func (g *galera) lateByGlobalLock(t *testing.T) {
	late := g.Nodes[1]
	g.causalWait(t, late, "0.1")
	holder := connect(t, late, "FLUSH TABLES WITH READ LOCK")
	must(t, g.Nodes[0].Exec(t.Context(), "UPDATE flakepass.account SET v = 1 WHERE id = 1"))
	says(t, connect(t, late), theValue, "0")
	refuses(t, connect(t, late, "SET SESSION wsrep_sync_wait = 1"), theValue, 1205)
	if state := status(t, late, "wsrep_local_state"); state != 2 {
		t.Errorf("state %d; want 2, as a donor", state)
	}
	g.causalWait(t, late, "30")
	run(t, holder, "UNLOCK TABLES")
	says(t, connect(t, late, "SET SESSION wsrep_sync_wait = 1"), theValue, "1")
}

// Each row of a table without a key is looked for in all of them.
func (g *galera) lateByLongTransaction(t *testing.T) {
	reader := connect(t, g.Nodes[1], "SET SESSION wsrep_sync_wait = 1")
	writer := connect(t, g.Nodes[0])
	run(t, writer, "INSERT INTO many SELECT seq FROM seq_1_to_1000")
	run(t, writer, "UPDATE many SET v = -v ORDER BY v DESC")
	run(t, writer, "UPDATE account SET v = 1 WHERE id = 1")
	before, err := ask(connect(t, g.Nodes[1]), theValue)
	must(t, err)
	began := time.Now()
	says(t, reader, theValue, "1")
	t.Logf("a plain read saw %s; the wait took %v", before, time.Since(began).Round(time.Millisecond))
}

// The driver gives the connection up. The server goes on waiting.
func (g *galera) waitEndsWithContext(t *testing.T) {
	late := g.Nodes[1]
	waiting, other := connect(t, late, "SET SESSION wsrep_sync_wait = 1"), connect(t, late)
	release := g.hold(t, g.Nodes[0], late)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		var v int
		done <- waiting.QueryRowContext(ctx, theValue).Scan(&v)
	}()
	const running = "SELECT COUNT(*) FROM information_schema.processlist WHERE info = '" + theValue + "'"
	eventually(t, "the statement runs", func() bool { n, err := ask(other, running); return err == nil && n == "1" })
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("%v; want that it is cancelled", err)
	}
	says(t, other, running, "1")
	release()
	eventually(t, "the statement ends", func() bool { n, err := ask(other, running); return err == nil && n == "0" })
}
