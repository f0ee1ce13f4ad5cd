//go:build unix

package testenv_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// TestOwnMySQLKeepsWhatItCommitted: over a Kill, and while it stands still it
// answers no request.
func TestOwnMySQLKeepsWhatItCommitted(t *testing.T) {
	t.Parallel()
	m := testenv.OwnMySQL(t)
	for _, statement := range []string{"CREATE TABLE t (id BIGINT PRIMARY KEY)", "INSERT INTO t VALUES (7)"} {
		if _, err := m.DB().ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	// What a SIGKILL does not show: a commit is on a disk, as in production.
	var redo, binlog, doublewrite string
	const honest = "SELECT @@innodb_flush_log_at_trx_commit, @@log_bin * @@sync_binlog, @@innodb_doublewrite"
	if err := m.DB().QueryRowContext(t.Context(), honest).Scan(&redo, &binlog, &doublewrite); err != nil ||
		redo != "1" || binlog != "1" || doublewrite != "ON" {
		t.Errorf("commits are flushed %q, to the binary log %q, doublewrite %q, %v; want 1, 1, ON", redo, binlog, doublewrite, err)
	}
	m.Kill()
	if err := m.DB().PingContext(t.Context()); err == nil {
		t.Error("it answers after it was killed")
	}
	m.Start()
	var id int
	if err := m.DB().QueryRowContext(t.Context(), "SELECT id FROM t").Scan(&id); err != nil || id != 7 {
		t.Errorf("after the crash: %d, %v", id, err)
	}

	m.Pause()
	answered := make(chan error, 1)
	go func() { answered <- m.DB().PingContext(t.Context()) }()
	select {
	case err := <-answered:
		t.Errorf("it answers while it stands still: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	m.Resume()
	if err := <-answered; err != nil {
		t.Errorf("it does not go on: %v", err)
	}

	conn, err := m.DB().Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	other := connect(t, "root@tcp("+m.Addr+")/"+m.Name)
	if err := other.PingContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The one that is in use here, and the other's.
	if n, err := m.KillConnections(t.Context()); err != nil || n < 2 {
		t.Errorf("%d connections killed, %v; want both", n, err)
	}
	if err := conn.PingContext(t.Context()); err == nil {
		t.Error("a connection that was killed answers")
	}
}

// A test that sets what is global to a server has it to itself.
func TestOwnMariaDBIsAMariaDB(t *testing.T) {
	t.Parallel()
	m := testenv.OwnMariaDB(t)
	var version, name string
	if err := m.DB().QueryRowContext(t.Context(), "SELECT VERSION(), DATABASE()").Scan(&version, &name); err != nil ||
		!strings.Contains(version, "MariaDB") || name != m.Name {
		t.Errorf("%s, %s, %v", version, name, err)
	}
	if shared := os.Getenv("FLAKEPASS_TEST_MARIADB"); strings.Contains(shared, m.Addr) {
		t.Errorf("it is the one that all tests share: %s", shared)
	}
}
