//go:build unix

// Package cluster runs real clusters of databases on loopback, and breaks them:
// Galera, Group Replication of MySQL, a source with its replica, and HAProxy in
// front of the server that takes writes.
//
// Each cluster has ports and a folder of its own and ends with its Close; if the
// program ends first, the kernel ends the servers. Data lie in memory, if there is
// room: a server that is killed loses nothing of them, and no disk is waited for.
//
// Most tests of this package are of the databases, not of flakepass. They show what
// the design for databases that fail over rests on.
package cluster

import (
	"context"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/internal/proof/testenv/server"
)

// startWithin bounds the start of a cluster, which takes some ten seconds.
const startWithin = 3 * time.Minute

// nodes is what every cluster has.
type nodes struct {
	Nodes []*Node

	dir    string
	closed []func() error // what else is to be ended
}

// in makes the folder of a cluster.
func in() (nodes, error) {
	dir, err := os.MkdirTemp(server.Memory(server.RoomForServers), "flakepass-cluster-")
	if err == nil {
		err = os.Chmod(dir, 0o755) //nolint:gosec // a server may run as another user
	}
	return nodes{dir: dir}, err
}

func (c *nodes) add(n *Node, err error) error {
	if err == nil {
		c.Nodes = append(c.Nodes, n)
	}
	return err
}

// Close ends the servers and removes their data.
func (c *nodes) Close() error {
	var errs []error
	for i := len(c.closed) - 1; i >= 0; i-- {
		errs = append(errs, c.closed[i]())
	}
	for _, n := range c.Nodes {
		errs = append(errs, n.close())
	}
	return errors.Join(append(errs, os.RemoveAll(c.dir))...)
}

// Start starts a cluster for a test, which is skipped if a program is not
// installed, or fails if servers are required. It ends with the test.
func Start[C io.Closer](t testing.TB, open func(context.Context) (C, error)) C {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startWithin)
	defer cancel()
	c, err := open(ctx)
	if errors.Is(err, server.ErrNoServers) || errors.Is(err, ErrAbsent) {
		testenv.Absent(t, "a cluster of its own ("+err.Error()+")")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// ErrAbsent is wrapped by the error of a start that lacks a program that is not installed.
var ErrAbsent = errors.New(`not installed; "make install-servers" installs it`)
