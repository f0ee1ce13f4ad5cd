//go:build unix

package cluster

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/flakepass/flakepass/internal/proof/testenv/server"
)

// Schema is the empty database that every cluster begins with.
const Schema = "flakepass"

// A Node is one database server of a cluster. It keeps its data and its address
// until the cluster is closed.
type Node struct {
	// Name is unique in the cluster.
	Name string
	// Addr is host:port for clients. Their user is root, without a password.
	Addr string

	dir     string
	process *server.Process
	db      *sql.DB
	start   func(context.Context) error // and wait until it belongs to the cluster
}

// newNode makes the data of a server ready; nothing runs yet. init runs at each
// start, before clients get in: it must make the user, and in no replicated log,
// for each server makes its own.
func newNode(ctx context.Context, kind, parent, name, init string) (*Node, error) {
	dir := filepath.Join(parent, name)
	if err := os.Mkdir(dir, 0o755); err != nil { //nolint:gosec // the server may run as another user
		return nil, err
	}
	port, err := server.FreePort(ctx)
	if err != nil {
		return nil, err
	}
	n := &Node{Name: name, Addr: fmt.Sprintf("127.0.0.1:%d", port), dir: dir}
	if n.process, err = server.Prepare(ctx, kind, dir, port); err != nil {
		return nil, err
	}
	if _, err := server.Private(nil, dir); err != nil { // or the start would make it, as another user
		return nil, err
	}
	init += "CREATE USER IF NOT EXISTS 'root'@'127.0.0.1' IDENTIFIED BY '';\nGRANT ALL PRIVILEGES ON *.* TO 'root'@'127.0.0.1' WITH GRANT OPTION;\n"
	if err := os.WriteFile(filepath.Join(dir, "init.sql"), []byte(init), 0o644); err != nil { //nolint:gosec // as above
		return nil, err
	}
	connector, err := mysql.NewConnector(n.config(""))
	if err != nil {
		return nil, err
	}
	n.db = sql.OpenDB(connector)
	n.db.SetMaxIdleConns(0) // what the harness asks is asked of the server that runs now
	n.start = n.startAlone
	return n, nil
}

func (n *Node) config(name string) *mysql.Config {
	c := mysql.NewConfig()
	c.User, c.Net, c.Addr, c.DBName = "root", "tcp", n.Addr, name
	c.Timeout, c.ReadTimeout = 30*time.Second, time.Minute
	c.Logger = &mysql.NopLogger{} // that it is away is what the tests are about
	return c
}

// Open is a new pool of connections to the schema of the node.
func (n *Node) Open() (*sql.DB, error) {
	connector, err := mysql.NewConnector(n.config(Schema))
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// Exec runs statements, each on a connection of its own.
func (n *Node) Exec(ctx context.Context, statements ...string) error {
	for _, statement := range statements {
		if _, err := n.db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("cluster: %s: %s: %w", n.Name, statement, err)
		}
	}
	return nil
}

// Hold executes statements on one connection and keeps it open, with what they lock,
// until release is called.
func (n *Node) Hold(ctx context.Context, statements ...string) (release func(), err error) {
	conn, err := n.db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("cluster: %s: %w", n.Name, err)
	}
	for _, statement := range statements {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return nil, errors.Join(fmt.Errorf("cluster: %s: %s: %w", n.Name, statement, err), conn.Close())
		}
	}
	return func() { _ = conn.Close() }, nil // which the pool does not keep
}

// Text is the answer to a question for one value.
func (n *Node) Text(ctx context.Context, query string, args ...any) (string, error) {
	var answer sql.NullString
	if err := n.db.QueryRowContext(ctx, query, args...).Scan(&answer); err != nil {
		return "", fmt.Errorf("cluster: %s: %s: %w", n.Name, query, err)
	}
	return answer.String, nil
}

// Status is a status variable, "" if there is none of that name.
func (n *Node) Status(ctx context.Context, name string) (string, error) {
	var ignored, value string
	err := n.db.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE '"+name+"'").Scan(&ignored, &value)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return value, err
}

// startAlone starts the server and returns when it answers.
func (n *Node) startAlone(ctx context.Context) error {
	if err := n.process.Start(); err != nil {
		return err
	}
	return n.process.Wait(ctx, n.answers)
}

// answers returns nil if the server on the node's port is the node's: a stranger
// who took the port first keeps its data elsewhere.
func (n *Node) answers(ctx context.Context) error {
	data, err := n.Text(ctx, "SELECT @@datadir")
	if err == nil && filepath.Clean(data) != filepath.Join(n.dir, "data") {
		err = fmt.Errorf("cluster: the server on %s keeps its data in %s", n.Addr, data)
	}
	return err
}

// Running reports whether the server lives. A paused one does.
func (n *Node) Running() bool { return n.process.Running() }

// Kill ends the server with SIGKILL, and what it has started itself, such as a
// program that copies its data.
func (n *Node) Kill() error {
	pid := n.process.PID()
	err := n.process.Kill()
	_ = syscall.Kill(-pid, syscall.SIGKILL)
	// What sets its clock has removed these only if the server ended in good order.
	_ = os.Remove(fmt.Sprintf("/dev/shm/faketime_shm_%d", pid))
	_ = os.Remove(fmt.Sprintf("/dev/shm/sem.faketime_sem_%d", pid))
	return err
}

// Pause makes the server stand still: connections stay open and nobody answers,
// neither clients nor the other nodes.
func (n *Node) Pause() error { return n.process.Pause() }

// Resume lets a paused server go on, with everything that was sent to it in the
// meantime.
func (n *Node) Resume() error { return n.process.Resume() }

// Restart starts a server that was killed. It returns when it belongs to its
// cluster again.
func (n *Node) Restart(ctx context.Context) error { return n.start(ctx) }

// close kills the server: nobody will read what it would write out.
func (n *Node) close() error {
	_ = n.db.Close()
	if !n.process.Running() {
		return nil
	}
	return n.Kill()
}

// until asks ok every few milliseconds until it returns nil. The error has the last
// answer.
func until(ctx context.Context, ok func(context.Context) error) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ok(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-tick.C:
		}
	}
}
