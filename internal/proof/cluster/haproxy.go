//go:build unix

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
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
	var conf strings.Builder
	fmt.Fprintf(&conf, "defaults\n\tmode tcp\n\ttimeout connect 1s\n\ttimeout client 1h\n\ttimeout server 1h\n\ttimeout check 1s\n"+
		"\toption httpchk GET /\nlisten database\n\tbind %s\n", addr)
	role := ""
	for _, n := range c.Nodes {
		health, err := c.health(ctx, n)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&conf, "\tserver %s %s check port %d inter 500 fall 2 rise 1 on-marked-down shutdown-sessions on-marked-up shutdown-backup-sessions%s\n",
			n.Name, n.Addr, health, role)
		role = " backup" // so that one node has all connections
	}
	dir := filepath.Join(c.dir, "haproxy")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	file := filepath.Join(dir, "haproxy.cfg")
	if err := os.WriteFile(file, []byte(conf.String()), 0o600); err != nil {
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
