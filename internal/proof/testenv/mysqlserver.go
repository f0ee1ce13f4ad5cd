//go:build unix

package testenv

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/flakepass/flakepass/internal/proof/testenv/server"
)

// A MySQLServer is a mysqld or mariadbd process of one test's own, with one empty
// database.
// It keeps its data over Kill and Start, which is its crash recovery. The
// methods end the test when they fail, so they are for the goroutine that runs
// the test.
type MySQLServer struct {
	// Addr is host:port. It stays the same for the server's whole life.
	Addr string
	// Name is the database's.
	Name string

	t       testing.TB
	process *server.Process
	db      *sql.DB
}

// OwnMySQL starts a mysqld, which takes some seconds, and returns when it
// answers. It ends with the test. Its user is root, without a password.
func OwnMySQL(t testing.TB) *MySQLServer { t.Helper(); return own(t, "mysql") }

// OwnMariaDB is what [OwnMySQL] is, of MariaDB. KillConnections does not know its
// connections.
func OwnMariaDB(t testing.TB) *MySQLServer { t.Helper(); return own(t, "mariadb") }

// own starts the server that withservers has under that name.
func own(t testing.TB, kind string) *MySQLServer {
	t.Helper()
	m := &MySQLServer{Name: "flakepass", t: t}
	var err error
	for range 3 { // another process may take the port meanwhile
		dir := t.TempDir() // which goes after the server that runs in it
		t.Cleanup(func() {
			if m.process != nil && m.process.Dir == dir && m.process.Running() {
				m.must(m.process.Kill()) // what it would write out is not read
			}
		})
		if err = m.prepare(kind, dir); errors.Is(err, server.ErrNoServers) {
			Absent(t, "a server of its own: "+kind)
		}
		if err == nil {
			if err = m.start(); err == nil {
				execute(t, m.config(""), "CREATE DATABASE "+m.Name+" CHARACTER SET utf8mb4")
				m.db = m.open()
				return m
			}
		}
	}
	t.Fatalf("testenv: %s: %v", kind, err)
	return nil
}

func (m *MySQLServer) prepare(kind, dir string) (err error) {
	port := FreePort(m.t)
	m.Addr = fmt.Sprintf("127.0.0.1:%d", port)
	m.process, err = server.Prepare(m.t.Context(), kind, dir, port)
	return err
}

func (m *MySQLServer) config(name string) *mysql.Config {
	c := mysql.NewConfig()
	c.User, c.Net, c.Addr, c.DBName = "root", "tcp", m.Addr, name
	c.Timeout, c.ReadTimeout = time.Second, 30*time.Second
	c.Logger = &mysql.NopLogger{} // that it is away is what the tests are about
	return c
}

func (m *MySQLServer) open() *sql.DB {
	connector, err := mysql.NewConnector(m.config(m.Name))
	if err != nil {
		m.t.Fatalf("testenv: %v", err)
	}
	db := sql.OpenDB(connector)
	m.t.Cleanup(func() { _ = db.Close() })
	return db
}

// DB is a pool of connections to the database. Those that a Kill has broken
// are replaced.
func (m *MySQLServer) DB() *sql.DB { return m.db }

// Start starts the server again after Kill, on the same port and with its data,
// and returns when it answers.
func (m *MySQLServer) Start() { m.t.Helper(); m.must(m.start()) }

// Kill ends the server with SIGKILL.
func (m *MySQLServer) Kill() { m.t.Helper(); m.must(m.process.Kill()) }

// Pause makes the server stand still: connections stay open and nobody
// answers.
func (m *MySQLServer) Pause() { m.t.Helper(); m.must(m.process.Pause()) }

// Resume lets a paused server go on, with everything that was sent to it in the
// meantime.
func (m *MySQLServer) Resume() { m.t.Helper(); m.must(m.process.Resume()) }

// KillConnections ends every connection to the database from others than the
// test itself, whatever it is in the middle of, and returns their number.
func (m *MySQLServer) KillConnections(ctx context.Context) (killed int, err error) {
	conn, err := m.db.Conn(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close() }()
	// The process list would stumble over the text of a statement with bytes in it.
	rows, err := conn.QueryContext(ctx, "SELECT processlist_id FROM performance_schema.threads "+
		"WHERE processlist_db = ? AND processlist_id <> CONNECTION_ID()", m.Name)
	if err != nil {
		return 0, err
	}
	defer func() { _ = rows.Close() }()
	var list []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return 0, err
		}
		list = append(list, id)
	}
	if err := rows.Err(); err != nil {
		return 0, err
	}
	for _, id := range list {
		if _, err := conn.ExecContext(ctx, "KILL "+strconv.FormatInt(id, 10)); err == nil {
			killed++ // the others have gone by themselves
		}
	}
	return killed, nil
}

func (m *MySQLServer) start() error {
	if err := m.process.Start(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	err := m.process.Wait(ctx, func(ctx context.Context) error {
		connector, err := mysql.NewConnector(m.config(""))
		if err != nil {
			return err
		}
		db := sql.OpenDB(connector)
		defer func() { _ = db.Close() }()
		// A stranger who took the port first has another folder.
		var data string
		if err := db.QueryRowContext(ctx, "SELECT @@datadir").Scan(&data); err != nil {
			return err
		}
		if !strings.HasPrefix(data, m.process.Dir) {
			return fmt.Errorf("the server on %s keeps its data in %s", m.Addr, data)
		}
		return nil
	})
	if err != nil {
		_ = m.process.Stop()
	}
	return err
}

func (m *MySQLServer) must(err error) {
	if err != nil {
		m.t.Helper()
		m.t.Fatalf("testenv: %v", err)
	}
}
