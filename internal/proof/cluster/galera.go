//go:build unix

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flakepass/flakepass/internal/proof/testenv/server"
)

// provider is where Debian's galera-4 puts the library.
const provider = "/usr/lib/galera/libgalera_smm.so"

// A Galera is a MariaDB Galera cluster of three nodes, which all take writes.
type Galera struct{ nodes }

// StartGalera starts one. Its settings are those of an installed one. With clocks,
// [Galera.SetClock] sets the clock of a node.
func StartGalera(ctx context.Context, clocks bool) (_ *Galera, err error) {
	if _, err := os.Stat(provider); err != nil {
		return nil, fmt.Errorf("galera-4: %w", ErrAbsent)
	}
	g := new(Galera)
	if g.nodes, err = in(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.Close())
		}
	}()
	var group []string
	for i := range 3 {
		n, err := newNode(ctx, "mariadb", g.dir, fmt.Sprintf("n%d", i+1), "SET SESSION wsrep_on = OFF;\n")
		if err := g.add(n, err); err != nil {
			return nil, err
		}
		ports, err := freePorts(ctx, 3)
		if err != nil {
			return nil, err
		}
		n.process.Args = append(n.process.Args, galeraArgs(n.Name, ports)...)
		group = append(group, "127.0.0.1:"+ports[0])
	}
	for i, n := range g.Nodes {
		if clocks {
			if err := n.withClock(); err != nil {
				return nil, err
			}
		}
		if err := n.asMySQL(ctx); err != nil {
			return nil, err
		}
		// A node that joins one that is alone becomes a member at once.
		n.process.Args = append(n.process.Args, "--wsrep-cluster-address=gcomm://"+strings.Join(group[:i], ","))
		if err := g.join(ctx, n); err != nil {
			return nil, err
		}
		n.process.Args[len(n.process.Args)-1] = "--wsrep-cluster-address=gcomm://" + strings.Join(group, ",")
		n.start = func(ctx context.Context) error { return g.join(ctx, n) }
	}
	return g, g.Nodes[0].Exec(ctx, "CREATE DATABASE "+Schema+" CHARACTER SET utf8mb4")
}

func galeraArgs(name string, ports []string) []string {
	return []string{
		"--wsrep-on=ON", "--wsrep-provider=" + provider, "--wsrep-cluster-name=flakepass", "--wsrep-node-name=" + name,
		"--wsrep-node-address=127.0.0.1:" + ports[0],
		"--wsrep-sst-method=rsync", "--wsrep-sst-receive-address=127.0.0.1:" + ports[1],
		"--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:" + ports[0] + ";ist.recv_addr=127.0.0.1:" + ports[2] + ";gcache.size=32M",
		"--binlog-format=ROW", "--innodb-autoinc-lock-mode=2", "--skip-log-bin",
	}
}

func freePorts(ctx context.Context, n int) (ports []string, err error) {
	for range n {
		port, err := server.FreePort(ctx)
		if err != nil {
			return nil, err
		}
		ports = append(ports, strconv.Itoa(port))
	}
	return ports, nil
}

// asMySQL lets the server run as the user mysql if this is root: the rsync that
// receives a copy of the data would otherwise give up its rights and could not
// write them.
func (n *Node) asMySQL(ctx context.Context) error {
	if os.Getuid() != 0 {
		return nil
	}
	account, err := user.Lookup("mysql")
	if err != nil {
		return fmt.Errorf("the user mysql: %w", ErrAbsent)
	}
	if out, err := exec.CommandContext(ctx, "chown", "-R", account.Uid+":"+account.Gid, n.dir).CombinedOutput(); err != nil { //nolint:gosec // no input of anybody
		return fmt.Errorf("cluster: chown: %w: %s", err, out)
	}
	setpriv, err := exec.LookPath("setpriv")
	if err != nil {
		return fmt.Errorf("setpriv: %w", ErrAbsent)
	}
	args := slices.DeleteFunc(slices.Clone(n.process.Args), func(arg string) bool { return arg == "--user=root" })
	n.process.Args = append([]string{"--reuid=" + account.Uid, "--regid=" + account.Gid, "--clear-groups", "--pdeathsig=KILL", n.process.Path}, args...)
	n.process.Path = setpriv
	return nil
}

// join starts a node and returns when it has everything that the others have.
func (g *Galera) join(ctx context.Context, n *Node) error {
	if err := n.process.Start(); err != nil {
		return err
	}
	return n.process.Wait(ctx, func(ctx context.Context) error {
		if err := n.answers(ctx); err != nil {
			return err
		}
		return synced(ctx, n)
	})
}

func synced(ctx context.Context, n *Node) error {
	state, err := n.Status(ctx, "wsrep_local_state_comment")
	if err == nil && state != "Synced" {
		err = errors.New("the node is " + state)
	}
	return err
}

// Await waits until every node that runs is in one cluster of that size and has
// applied what the others have.
func (g *Galera) Await(ctx context.Context, size int) error {
	for _, n := range g.Nodes {
		if !n.Running() {
			continue
		}
		err := until(ctx, func(ctx context.Context) error {
			got, err := n.Status(ctx, "wsrep_cluster_size")
			if err == nil && got != strconv.Itoa(size) {
				err = errors.New(n.Name + " is in a cluster of " + got)
			}
			return errors.Join(err, synced(ctx, n))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Partition cuts a node off from the others, or heals that, in the library of
// Galera itself: a proxy in between would be passed by, for the nodes tell each
// other their addresses. Clients still reach the node.
func (g *Galera) Partition(ctx context.Context, n *Node, cut bool) error {
	return n.Exec(ctx, fmt.Sprintf("SET GLOBAL wsrep_provider_options = 'gmcast.isolate=%d'", number(cut)))
}

// Desync makes a node one that holds nobody up, as a donor is, or ends that.
func (g *Galera) Desync(ctx context.Context, n *Node, on bool) error {
	return n.Exec(ctx, fmt.Sprintf("SET GLOBAL wsrep_desync = %d", number(on)))
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// withClock lets the node see the clock that a file says.
func (n *Node) withClock() error {
	found, err := filepath.Glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
	if err != nil || len(found) == 0 {
		return fmt.Errorf("libfaketime: %w", errors.Join(err, ErrAbsent))
	}
	n.process.Args = append([]string{
		"LD_PRELOAD=" + found[0], "FAKETIME_TIMESTAMP_FILE=" + n.clock(), "FAKETIME_DONT_FAKE_MONOTONIC=1", "FAKETIME_CACHE_DURATION=1",
		n.process.Path,
	}, n.process.Args...)
	n.process.Path = "/usr/bin/env"
	return n.writeClock(0)
}

func (n *Node) clock() string { return filepath.Join(n.dir, "clock") }

func (n *Node) writeClock(offset time.Duration) error {
	next := n.clock() + ".new"
	text := fmt.Sprintf("%+.3f\n", offset.Seconds())
	if err := os.WriteFile(next, []byte(text), 0o644); err != nil { //nolint:gosec // the server may run as another user
		return err
	}
	return os.Rename(next, n.clock())
}

// SetClock sets the clock of a node off by that much, and returns when the node
// says so: the library looks at the file once a second.
func (g *Galera) SetClock(ctx context.Context, n *Node, offset time.Duration) error {
	if _, err := os.Stat(n.clock()); errors.Is(err, fs.ErrNotExist) {
		return errors.New("cluster: started without clocks")
	}
	if err := n.writeClock(offset); err != nil {
		return err
	}
	return until(ctx, func(ctx context.Context) error {
		text, err := n.Text(ctx, "SELECT UNIX_TIMESTAMP(SYSDATE(3))")
		if err != nil {
			return err
		}
		seconds, err := strconv.ParseFloat(text, 64)
		off := time.Duration((seconds - float64(time.Now().UnixMilli())/1000) * float64(time.Second))
		if err == nil && (off-offset).Abs() > 500*time.Millisecond {
			err = fmt.Errorf("the clock is off by %v", off)
		}
		return err
	})
}
