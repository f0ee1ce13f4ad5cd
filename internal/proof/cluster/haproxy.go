//go:build unix

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/flakepass/flakepass/internal/proof/testenv/server"
)

// Behind starts a HAProxy that sends connections to the first node that takes
// writes, and returns its address. It asks each node twice a second, and ends the
// connections to one that takes none any more. It ends with the cluster.
func (c *nodes) Behind(ctx context.Context) (addr string, err error) {
	path, err := exec.LookPath("haproxy")
	if err != nil {
		path = "/usr/sbin/haproxy" // which an ordinary user's PATH leaves out
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("haproxy: %w", ErrAbsent)
	}
	port, err := server.FreePort(ctx)
	if err != nil {
		return "", err
	}
	addr = fmt.Sprintf("127.0.0.1:%d", port)
	conf, err := c.haproxy(ctx, addr)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(c.dir, "haproxy")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	file := filepath.Join(dir, "haproxy.cfg")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		return "", err
	}
	process := &server.Process{Path: path, Args: []string{"-db", "-f", file}, Dir: dir}
	if err := process.Start(); err != nil {
		return "", err
	}
	c.closed = append(c.closed, process.Kill)
	return addr, process.Wait(ctx, func(ctx context.Context) error {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "tcp", addr)
		if err != nil {
			return err
		}
		return conn.Close()
	})
}

// haproxy is docs/deploy/haproxy-database.cfg with the addresses of the nodes, and
// without the servers that are too many.
func (c *nodes) haproxy(ctx context.Context, addr string) (string, error) {
	name := filepath.Join("docs", "deploy", "haproxy-database.cfg")
	text, err := os.ReadFile(name)                                //nolint:gosec // a file of this repository
	for up := 0; errors.Is(err, fs.ErrNotExist) && up < 4; up++ { // a test runs in the folder of its package
		name = filepath.Join("..", name)
		text, err = os.ReadFile(name) //nolint:gosec // the same
	}
	if err != nil {
		return "", fmt.Errorf("cluster: %w", err)
	}
	conf := strings.Replace(string(text), "bind :3306", "bind "+addr, 1)
	for i, n := range c.Nodes {
		health, err := c.health(ctx, n)
		if err != nil {
			return "", err
		}
		server := fmt.Sprintf("server db%d db%d:3306 check port 9200", i+1, i+1)
		if !strings.Contains(conf, server) {
			return "", fmt.Errorf("cluster: %s has no %q", name, server)
		}
		conf = strings.Replace(conf, server, fmt.Sprintf("server %s %s check port %d", n.Name, n.Addr, health), 1)
	}
	lines := slices.DeleteFunc(strings.SplitAfter(conf, "\n"), func(line string) bool { return strings.Contains(line, "port 9200 ") })
	return strings.Join(lines, ""), nil
}

// health answers 200 on a port of its own while a node takes writes, as the script
// does that is usual beside a database.
func (c *nodes) health(ctx context.Context, n *Node) (port int, err error) {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	s := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		if err := n.writable(ctx); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})}
	go func() { _ = s.Serve(listener) }()
	c.closed = append(c.closed, s.Close)
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		return 0, errors.New("cluster: no address")
	}
	return address.Port, nil
}

// writable returns nil if a node takes writes. A node of Galera that is not synced
// has no such status as the others, and takes none.
func (n *Node) writable(ctx context.Context) error {
	readOnly, err := n.Text(ctx, "SELECT @@global.read_only")
	if err == nil && readOnly != "0" {
		err = errors.New("read-only")
	}
	if err != nil {
		return err
	}
	state, err := n.Status(ctx, "wsrep_local_state_comment")
	if err == nil && state != "" && state != "Synced" {
		err = errors.New(state)
	}
	return err
}
