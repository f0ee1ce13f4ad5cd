//go:build unix

package cluster_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"
)

func (g *galera) desync(t *testing.T) {
	n := g.Nodes[2]
	must(t, g.Desync(t.Context(), n, true))
	if state := status(t, n, "wsrep_local_state"); state != 2 {
		t.Errorf("state %d; want 2", state)
	}
	must(t, g.Nodes[0].Exec(t.Context(), "UPDATE flakepass.account SET v = 1 WHERE id = 1"))
	says(t, connect(t, n, "SET SESSION wsrep_sync_wait = 1"), theValue, "1")
	must(t, n.Exec(t.Context(), "UPDATE flakepass.account SET v = 2 WHERE id = 1"))
	says(t, connect(t, g.Nodes[0], "SET SESSION wsrep_sync_wait = 1"), theValue, "2")
	must(t, g.Desync(t.Context(), n, false))
}

func (g *galera) ordinary(t *testing.T) {
	must(t, g.Nodes[0].Exec(t.Context(), "CREATE USER plain@'127.0.0.1'", "GRANT ALL ON flakepass.* TO plain@'127.0.0.1'"))
	n := g.Nodes[1]
	g.applied(t, n)
	db := poolAs(t, "plain", n.Addr)
	conn, err := db.Conn(t.Context())
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	run(t, conn, "SET SESSION wsrep_sync_wait = 7")
	says(t, conn, "SELECT @@wsrep_sync_wait", "7")
	says(t, conn, "SELECT @@global.wsrep_on", "1")
	says(t, conn, "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'wsrep_cluster_status'", "Primary")
	_, err = conn.ExecContext(t.Context(), "SET SESSION wsrep_on = OFF")
	fails(t, err, "wsrep_on", 1227)

	// What somebody with the right to it does without replication, nobody else has.
	run(t, connect(t, n, "SET SESSION wsrep_on = OFF"), "UPDATE account SET v = 9 WHERE id = 2")
	says(t, connect(t, g.Nodes[0], "SET SESSION wsrep_sync_wait = 15"), "SELECT v FROM account WHERE id = 2", "0")
	says(t, connect(t, n, "SET SESSION wsrep_sync_wait = 15"), "SELECT v FROM account WHERE id = 2", "9")
	if state := status(t, n, "wsrep_local_state"); state != 4 {
		t.Errorf("state %d; want 4", state)
	}
	run(t, connect(t, n, "SET SESSION wsrep_on = OFF"), "UPDATE account SET v = 0 WHERE id = 2")
}

func (g *galera) clocks(t *testing.T) {
	for _, offset := range []time.Duration{-10 * time.Second, 10 * time.Second, 0} {
		must(t, g.SetClock(within(t), g.Nodes[2], offset))
		run(t, connect(t, g.Nodes[2]), "UPDATE account SET at = ROUND(UNIX_TIMESTAMP(NOW(3)) * 1000) WHERE id = 1")
		text, err := ask(connect(t, g.Nodes[0], "SET SESSION wsrep_sync_wait = 1"), "SELECT ROUND(at - UNIX_TIMESTAMP(NOW(3)) * 1000) FROM account WHERE id = 1")
		must(t, err)
		off, err := time.ParseDuration(text + "ms")
		must(t, err)
		if offset < 0 && off > -9*time.Second || offset > 0 && off < 5*time.Second {
			t.Errorf("a stamp made by a clock that is off by %v is off by %v", offset, off)
		}
	}
}

func (g *galera) partition(t *testing.T) {
	cut := g.Nodes[2]
	plain, waiting := connect(t, cut), connect(t, cut, "SET SESSION wsrep_sync_wait = 1")
	writer := connect(t, cut, "BEGIN", "UPDATE account SET v = 5 WHERE id = 2")
	must(t, g.Partition(t.Context(), cut, true))
	committed, written := make(chan error, 1), make(chan error, 1)
	go func() { _, err := writer.ExecContext(context.Background(), "COMMIT"); committed <- err }()
	var acknowledged atomic.Bool
	go func() {
		err := g.Nodes[0].Exec(context.Background(), "UPDATE flakepass.account SET v = 1 WHERE id = 1")
		acknowledged.Store(true)
		written <- err
	}()
	// It does not know yet.
	says(t, plain, theValue, "0")
	says(t, plain, "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'wsrep_cluster_status'", "Primary")
	for {
		late := acknowledged.Load()
		value, err := ask(waiting, theValue)
		if err != nil {
			fails(t, err, "a read that waits", 1205, 1047)
			break
		}
		if late {
			t.Fatalf("a read that waits says %s after the others have committed", value)
		}
	}
	must(t, <-written)
	fails(t, <-committed, "the commit", 1180, 1213)
	eventually(t, "the node knows", func() bool {
		state, err := cut.Status(t.Context(), "wsrep_cluster_status")
		return err == nil && state == "non-Primary"
	})
	says(t, plain, "SELECT 1", "1")
	must(t, plain.PingContext(t.Context()))
	refuses(t, plain, theValue, 1047)
	_, err := plain.BeginTx(t.Context(), nil)
	fails(t, err, "BEGIN", 1047)
	says(t, plain, "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'wsrep_ready'", "OFF")
	says(t, plain, "SELECT @@global.read_only", "0")
	says(t, connect(t, cut, "SET SESSION wsrep_dirty_reads = ON"), theValue, "0")
	must(t, g.Partition(t.Context(), cut, false))
	must(t, g.Await(within(t), 3))
	says(t, plain, "SELECT v FROM account WHERE id = 2", "0") // what was not acknowledged is nowhere
	says(t, waiting, theValue, "1")
}

// What was sent to it meanwhile is answered by what the node believes when it goes on.
func (g *galera) stoodStill(t *testing.T) {
	still := g.Nodes[2]
	plain, waiting, writer := connect(t, still), connect(t, still, "SET SESSION wsrep_sync_wait = 1"), connect(t, still)
	must(t, still.Pause())
	must(t, g.Nodes[0].Exec(within(t), "UPDATE flakepass.account SET v = 1 WHERE id = 1"))
	type outcome struct {
		answer string
		err    error
	}
	read, waited, written := make(chan outcome, 1), make(chan outcome, 1), make(chan error, 1)
	go func() { answer, err := ask(plain, theValue); read <- outcome{answer, err} }()
	go func() { answer, err := ask(waiting, theValue); waited <- outcome{answer, err} }()
	go func() {
		_, err := writer.ExecContext(context.Background(), "UPDATE account SET v = 9 WHERE id = 2")
		written <- err
	}()
	must(t, still.Resume())
	r, w := <-read, <-waited
	t.Logf("a plain read: %q, %v; one that waits: %q, %v", r.answer, r.err, w.answer, w.err)
	fails(t, <-written, "a change", 1180, 1213, 1047)
	must(t, g.Await(within(t), 3))
	says(t, waiting, theValue, "1")
	says(t, waiting, "SELECT v FROM account WHERE id = 2", "0")
}

// The proxy leads all to one node, and to the next one when that is killed.
func (g *galera) killed(t *testing.T) {
	addr, err := g.Behind(within(t))
	must(t, err)
	db := pool(t, addr)
	at := func(name string) {
		t.Helper()
		eventually(t, "the proxy leads to "+name, func() bool {
			got, err := ask(db, "SELECT @@wsrep_node_name FROM account WHERE id = 1")
			return err == nil && got == name
		})
	}
	at("n1")
	open, err := db.Conn(t.Context())
	must(t, err)
	t.Cleanup(func() { _ = open.Close() })
	run(t, open, "UPDATE account SET v = 3 WHERE id = 1")
	must(t, g.Nodes[0].Kill())
	if err := open.PingContext(t.Context()); err == nil {
		t.Error("a connection to a node that was killed answers")
	}
	at("n2")
	says(t, connect(t, g.Nodes[1], "SET SESSION wsrep_sync_wait = 1"), theValue, "3")
	must(t, g.Await(within(t), 2))
	must(t, g.Nodes[0].Restart(within(t)))
	at("n1")
}

func (g *galera) costs(t *testing.T) {
	conn := connect(t, g.Nodes[1])
	cost(t, conn, "SELECT 1", "SELECT 1")
	cost(t, conn, "a row by its key", theValue)
	cost(t, conn, "@@wsrep_on, read_only", "SELECT @@wsrep_on AND @@global.read_only")
	cost(t, conn, "WSREP_LAST_SEEN_GTID()", "SELECT WSREP_LAST_SEEN_GTID()")
	cost(t, conn, "SHOW STATUS LIKE", "SHOW STATUS WHERE variable_name = 'wsrep_cluster_status'")
	cost(t, conn, "information_schema.global_status", "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'wsrep_cluster_status'")
	cost(t, conn, "SET STATEMENT wsrep_sync_wait = 1", "SET STATEMENT wsrep_sync_wait = 1 FOR "+theValue)
	waiting := connect(t, g.Nodes[1], "SET SESSION wsrep_sync_wait = 1")
	cost(t, waiting, "wsrep_sync_wait = 1", theValue)

	ctx, cancel := context.WithCancel(t.Context())
	written := make(chan int, 1)
	go func() {
		n := 0
		for g.Nodes[0].Exec(ctx, "UPDATE flakepass.account SET v = v + 1 WHERE id = 2") == nil {
			n++
		}
		written <- n
	}()
	began := time.Now()
	cost(t, conn, "a row, while another node writes", theValue)
	cost(t, waiting, "the same with wsrep_sync_wait = 1", theValue)
	took := time.Since(began)
	cancel()
	t.Logf("%d changes in %v", <-written, took)

	began = time.Now()
	const times = 50
	for range times {
		run(t, conn, "UPDATE account SET v = v + 1 WHERE id = 1")
	}
	t.Logf("%-40s %v", "a change of one row", (time.Since(began) / times).Round(time.Microsecond))
}
