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

// A replica that applies nothing is found to be behind by as much as was written since, one that
// has caught up is not, and one that is dead is named.
func TestReplicasAreAskedHowFarTheyAre(t *testing.T) {
	t.Parallel()
	source := testenv.OwnMySQL(t)
	slow, gone := replicate(t, source), testenv.OwnMySQL(t)
	w := newWorld(t, onServer(t, "root@tcp("+source.Addr+")/"+source.Name))
	copies, err := sqlstore.OpenCopies(w.DB, []string{sourceOf(t, slow), sourceOf(t, gone)}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer copies.Close()
	replica := func(verb string) {
		t.Helper()
		if _, err := slow.DB().ExecContext(t.Context(), verb+" REPLICA SQL_THREAD"); err != nil {
			t.Fatal(err)
		}
	}

	// The other has no such table: it does not answer, and says nothing of the first.
	behind, err := copies.Behind(t.Context())
	if err == nil || !strings.Contains(err.Error(), "replica 2 of FLAKEPASS_REPLICAS") {
		t.Errorf("behind by %v, %v; the second knows nothing of us", behind, err)
	}
	testenv.Eventually(t, time.Minute, func() bool {
		behind, err := copies.Behind(t.Context())
		return behind == 0 && !strings.Contains(fmt.Sprint(err), "replica 1 of")
	}, "the replica to follow")

	replica("STOP")
	testenv.Eventually(t, time.Minute, func() bool {
		behind, _ = copies.Behind(t.Context())
		return behind >= 2*time.Second
	}, "the replica to be behind")
	if behind > time.Minute {
		t.Errorf("behind by %v", behind)
	}
	replica("START")
	testenv.Eventually(t, time.Minute, func() bool {
		behind, _ = copies.Behind(t.Context())
		return behind == 0
	}, "the replica to catch up")

	slow.Kill()
	behind, err = copies.Behind(t.Context())
	if behind != 0 || err == nil || !strings.Contains(err.Error(), "replica 1 of FLAKEPASS_REPLICAS") {
		t.Errorf("a dead replica is behind by %v, %v", behind, err)
	}
}

// TestReplicaIsBehindByWhatItLacks, also of what was written before the pass began. One that lacks
// the last heartbeat alone is not behind by the second that lies between two.
func TestReplicaIsBehindByWhatItLacks(t *testing.T) {
	t.Parallel()
	w, there := newWorld(t, kinds[1].options(t)), kinds[1].options(t)
	replica := newWorld(t, there)
	copies, err := sqlstore.OpenCopies(w.DB, []string{there.Source}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer copies.Close()
	for _, had := range []time.Duration{time.Minute, time.Second / 2} { // before now
		asked := time.Now()
		w.run(t, "REPLACE INTO polls (instance, polled_at) VALUES ('one', ROUND(UNIX_TIMESTAMP(NOW(3)) * 1000) - ?)", had.Milliseconds())
		replica.run(t, "REPLACE INTO polls (instance, polled_at) VALUES ('one', ?)", w.number(t, "SELECT polled_at FROM polls WHERE instance = 'one'"))
		behind, err := copies.Behind(t.Context())
		least := max(0, had-time.Second)
		most := max(0, had+time.Since(asked)-time.Second) + 10*time.Millisecond // the database rounds
		if err != nil || behind < least || behind > most {
			t.Errorf("lacks what was written in the last %v, and is behind by %v, %v; want %v to %v", had, behind, err, least, most)
		}
	}
}

func sourceOf(t *testing.T, m *testenv.MySQLServer) string {
	t.Helper()
	s, err := sqlstore.MySQLSource("mysql://root@" + m.Addr + "/" + m.Name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
