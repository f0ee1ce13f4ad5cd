package run

import (
	"bytes"
	"context"
	"database/sql"
	"io"
	"net"
	"net/url"
	"strconv"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/server/config"
)

// TestNoPortIsOpenWhileAStartWaitsForItsDatabase: in an open port a client would wait, and a health check would take
// this instance for one that serves.
func TestNoPortIsOpenWhileAStartWaitsForItsDatabase(t *testing.T) {
	listen, ops := freePort(t), freePort(t)
	startWithLocked(t, []string{"users"}, listen, ops, func() {
		for _, address := range []string{listen, ops} {
			if conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address); err == nil {
				_ = conn.Close()
				t.Errorf("%s is open, and the start waits for the database", address)
			}
		}
	})
}

// TestADatabaseThatIsSlowForSomeSecondsEndsNoStart: FLAKEPASS_DATABASE_WAIT is a minute, whichever table a start waits for.
func TestADatabaseThatIsSlowForSomeSecondsEndsNoStart(t *testing.T) {
	startWithLocked(t, []string{"settings", "worker_nodes", "deployment"}, "127.0.0.1:0", "127.0.0.1:0", func() {})
}

// startWithLocked starts an instance for each table while that is locked, as by a statement that alters it. When the start
// says that it waits, meanwhile is called, and then the lock goes.
func startWithLocked(t *testing.T, tables []string, listen, ops string, meanwhile func()) {
	t.Helper()
	dsn, err := mysql.ParseDSN(testenv.MySQL(t))
	if err != nil {
		t.Fatal(err)
	}
	u := url.URL{Scheme: "mysql", User: url.UserPassword(dsn.User, dsn.Passwd), Host: dsn.Addr, Path: "/" + dsn.DBName}
	cfg, err := config.Load(config.Options{Environ: []string{
		"FLAKEPASS_LISTEN=" + listen, "FLAKEPASS_OPS_LISTEN=" + ops,
		"FLAKEPASS_HASH_PROCESS=off", "FLAKEPASS_DATA_DIR=" + t.TempDir(), "FLAKEPASS_DATABASE=" + u.String(),
	}})
	if err != nil {
		t.Fatal(err)
	}
	served := func(log io.Writer) error {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		return Serve(ctx, cfg, io.Discard, log, func(string, string) { stop() })
	}
	if err := served(io.Discard); err != nil { // makes the tables
		t.Fatal(err)
	}
	db, err := sql.Open("mysql", dsn.FormatDSN())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for _, table := range tables {
		locker, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := locker.ExecContext(t.Context(), "LOCK TABLES "+table+" WRITE"); err != nil {
			t.Fatal(err)
		}
		unlock := sync.OnceFunc(func() {
			_, _ = locker.ExecContext(context.Background(), "UNLOCK TABLES")
			_ = locker.Close()
		})
		waited := false
		waits := sync.OnceFunc(func() {
			waited = true
			meanwhile()
			unlock()
		})
		err = served(whenWritten{"waiting for a database", waits})
		unlock()
		if err != nil || !waited {
			t.Errorf("%s was locked, and the start waited: %v, and ended: %v", table, waited, err)
		}
	}
}

// whenWritten calls do when text is written.
type whenWritten struct {
	text string
	do   func()
}

func (w whenWritten) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte(w.text)) {
		w.do()
	}
	return len(b), nil
}

func freePort(t *testing.T) string {
	t.Helper()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(testenv.FreePort(t)))
}
