//go:build unix

package sqlstore_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/domain/sweep"
	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// replicate makes a real replica of a real server, from now on.
func replicate(t *testing.T, source *testenv.MySQLServer) *testenv.MySQLServer {
	t.Helper()
	replica := testenv.OwnMySQL(t)
	exec := func(m *testenv.MySQLServer, statement string) {
		t.Helper()
		if _, err := m.DB().ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	var file string
	var at int64
	var ignored [3]string
	if err := source.DB().QueryRowContext(t.Context(), "SHOW BINARY LOG STATUS").Scan(&file, &at, &ignored[0], &ignored[1], &ignored[2]); err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(source.Addr)
	if err != nil {
		t.Fatal(err)
	}
	exec(source, "SET GLOBAL server_id = 101")
	exec(replica, "SET GLOBAL server_id = 102")
	exec(replica, fmt.Sprintf("CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT=%s, SOURCE_USER='root', "+
		"SOURCE_PASSWORD='', GET_SOURCE_PUBLIC_KEY=1, SOURCE_LOG_FILE='%s', SOURCE_LOG_POS=%d", port, file, at))
	exec(replica, "START REPLICA")
	t.Cleanup(func() {
		if t.Failed() {
			var number, text string
			_ = replica.DB().QueryRowContext(context.Background(), "SELECT last_error_number, last_error_message FROM performance_schema.replication_connection_status").Scan(&number, &text)
			t.Logf("the replica's last error: %s %s", number, text)
			_ = replica.DB().QueryRowContext(context.Background(), "SELECT last_error_number, last_error_message FROM performance_schema.replication_applier_status_by_worker LIMIT 1").Scan(&number, &text)
			t.Logf("and that of its applier: %s %s", number, text)
		}
	})
	return replica
}

// A replica that applies nothing is found to be behind by as much as the pass
// has written since, one that has caught up is not, and one that is dead is named.
func TestReplicasAreAskedHowFarTheyAre(t *testing.T) {
	t.Parallel()
	source := testenv.OwnMySQL(t)
	slow, gone := replicate(t, source), testenv.OwnMySQL(t)
	w := newWorld(t, onServer(t, "root@tcp("+source.Addr+")/"+source.Name))
	runs := &sqlstore.Sweeps{DB: w.DB}
	copies, err := sqlstore.OpenCopies(w.DB, []string{sourceOf(t, slow), sourceOf(t, gone)}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer copies.Close()
	pass := sweep.Report{ID: 4711, Instance: "here", Started: time.Now()}
	const lease = time.Minute
	if _, err := runs.Take(t.Context(), pass, nil, lease); err != nil {
		t.Fatal(err)
	}
	beat := func() {
		t.Helper()
		if err := runs.Keep(t.Context(), pass, sweep.Cursor{}, lease); err != nil {
			t.Fatal(err)
		}
	}
	replica := func(verb string) {
		t.Helper()
		if _, err := slow.DB().ExecContext(t.Context(), verb+" REPLICA SQL_THREAD"); err != nil {
			t.Fatal(err)
		}
	}

	// The other has no such table: it does not answer, and says nothing of the first.
	behind, err := copies.Behind(t.Context(), pass.ID)
	if err == nil || !strings.Contains(err.Error(), "replica 2 of FLAKEPASS_REPLICAS") {
		t.Errorf("behind by %v, %v; the second knows nothing of us", behind, err)
	}
	testenv.Eventually(t, time.Minute, func() bool {
		beat()
		behind, _ = copies.Behind(t.Context(), pass.ID)
		return behind == 0 && w.arrived(t, slow)
	}, "the replica to follow")

	replica("STOP")
	testenv.Eventually(t, time.Minute, func() bool {
		beat()
		behind, _ = copies.Behind(t.Context(), pass.ID)
		return behind >= 2*time.Second
	}, "the replica to be behind")
	if behind > time.Minute {
		t.Errorf("behind by %v", behind)
	}
	replica("START")
	testenv.Eventually(t, time.Minute, func() bool {
		behind, _ = copies.Behind(t.Context(), pass.ID)
		return behind == 0
	}, "the replica to catch up")

	slow.Kill()
	beat()
	behind, err = copies.Behind(t.Context(), pass.ID)
	if behind != 0 || err == nil || !strings.Contains(err.Error(), "replica 1 of FLAKEPASS_REPLICAS") {
		t.Errorf("a dead replica is behind by %v, %v", behind, err)
	}
	if behind, err := copies.Behind(t.Context(), pass.ID+1); behind != 0 || err != nil {
		t.Errorf("another pass: %v, %v", behind, err)
	}
}

// arrived reports whether the replica knows the pass at all.
func (w *world) arrived(t *testing.T, m *testenv.MySQLServer) bool {
	t.Helper()
	var n int
	err := m.DB().QueryRowContext(t.Context(), "SELECT COUNT(*) FROM sweep_state WHERE pass_id = 4711").Scan(&n)
	return err == nil && n == 1
}

func sourceOf(t *testing.T, m *testenv.MySQLServer) string {
	t.Helper()
	s, err := sqlstore.MySQLSource("mysql://root@" + m.Addr + "/" + m.Name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
