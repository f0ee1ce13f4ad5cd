//go:build unix

package testenv

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/testenv/server"
)

// A Cluster is a Redis Cluster of one test's own: three masters that share the
// slots, and a replica of each. Its methods are for the goroutine that runs the
// test, which they end when they fail.
type Cluster struct {
	// Nodes run until the test ends, or kills them. At first the masters are
	// those with index 0 to 2, and node i+3 is the replica of node i.
	Nodes []*RedisServer

	t testing.TB
}

// slots is how many there are in every cluster.
const slots = 16384

// RedisCluster starts a cluster, which takes about two seconds, and returns when
// a failover would work. All of it ends with the test.
func RedisCluster(t testing.TB) *Cluster {
	t.Helper()
	c := &Cluster{t: t}
	buses := map[*RedisServer]int{}
	for range 6 {
		var bus int
		node := redisServer(t, func(dir string, port int) []string {
			bus = FreePort(t)
			return clusterArgs(dir, port, bus)
		})
		c.Nodes, buses[node] = append(c.Nodes, node), bus
	}
	for i, node := range c.Nodes {
		// With epochs of their own from the start, the nodes need not settle who
		// has which.
		node.Command(fmt.Sprintf("CLUSTER SET-CONFIG-EPOCH %d", i+1))
		if i < 3 {
			node.Command(fmt.Sprintf("CLUSTER ADDSLOTSRANGE %d %d", i*slots/3, (i+1)*slots/3-1))
		}
	}
	for _, node := range c.Nodes[1:] {
		host, port, _ := net.SplitHostPort(node.Addr)
		c.Nodes[0].Command(fmt.Sprintf("CLUSTER MEET %s %s %d", host, port, buses[node]))
	}
	for i, replica := range c.Nodes[3:] {
		master := c.Nodes[i].id()
		Eventually(t, assembly, func() bool { return replica.says("CLUSTER REPLICATE "+master, "+OK") }, "a replica knows its master")
	}
	c.Await()
	return c
}

// clusterArgs names the port of the nodes' own talk, which would otherwise be
// one that the kernel gives to outgoing connections.
func clusterArgs(dir string, port, bus int) []string {
	return append(server.RedisArgs(dir, port),
		"--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(bus), "--cluster-config-file", "nodes.conf",
		"--cluster-node-timeout", "1500", "--cluster-replica-validity-factor", "0", "--repl-diskless-sync-delay", "0")
}

// Addrs is where the nodes listen.
func (c *Cluster) Addrs() []string { return addresses(c.Nodes) }

// URL is the cluster as the configuration of the program names it.
func (c *Cluster) URL() string { return "redis+cluster://" + strings.Join(c.Addrs(), ",") }

// Await waits until all nodes that run agree that each slot has a master that
// runs, and until every other node that runs has its copy.
func (c *Cluster) Await() {
	c.t.Helper()
	Eventually(c.t, assembly, c.ready, "the cluster is whole")
}

func (c *Cluster) ready() bool {
	for _, node := range running(c.Nodes) {
		rows, err := node.view()
		if err != nil || len(rows) != len(c.Nodes) || !node.says("CLUSTER INFO", "cluster_state:ok") {
			return false
		}
		masters := 0
		for _, row := range rows {
			if c.at(row.addr) == nil || row.has("handshake") {
				return false
			}
			if row.has("master") && len(row.slots) > 0 {
				masters++
				if !c.at(row.addr).Running() || row.has("fail") || row.has("fail?") {
					return false
				}
			}
			if row.has("myself") && row.has("slave") && !node.says("INFO replication", "master_link_status:up") {
				return false
			}
		}
		if masters != 3 {
			return false
		}
	}
	return true
}

// Owner waits until the cluster is whole and returns the master of a key.
func (c *Cluster) Owner(key string) *RedisServer {
	c.t.Helper()
	c.Await()
	slot := c.Slot(key)
	rows, err := running(c.Nodes)[0].view()
	if err != nil {
		c.t.Fatalf("testenv: %v", err)
	}
	for _, row := range rows {
		if row.has("master") && row.owns(slot) {
			return c.at(row.addr)
		}
	}
	c.t.Fatalf("testenv: no node owns slot %d", slot)
	return nil
}

// Slot is where a key belongs.
func (c *Cluster) Slot(key string) int {
	c.t.Helper()
	answer := running(c.Nodes)[0].Command("CLUSTER KEYSLOT " + key)
	slot, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(answer, ":")))
	if err != nil {
		c.t.Fatalf("testenv: slot of %s: %v", key, err)
	}
	return slot
}

// BeginMove lets the slot of a key go from one master to another. From then on
// until FinishMove, the old one answers ASK for what it does not have.
func (c *Cluster) BeginMove(key string, to *RedisServer) {
	c.t.Helper()
	from, slot := c.Owner(key), c.Slot(key)
	to.Command(fmt.Sprintf("CLUSTER SETSLOT %d IMPORTING %s", slot, from.id()))
	from.Command(fmt.Sprintf("CLUSTER SETSLOT %d MIGRATING %s", slot, to.id()))
}

// FinishMove makes a master the owner of the slot of a key. From then on the old
// one answers MOVED. Keys that lie there do not come along.
func (c *Cluster) FinishMove(key string, to *RedisServer) {
	c.t.Helper()
	from, slot := c.Owner(key), c.Slot(key)
	for _, node := range []*RedisServer{to, from} {
		node.Command(fmt.Sprintf("CLUSTER SETSLOT %d NODE %s", slot, to.id()))
	}
	Eventually(c.t, assembly, func() bool { return c.Owner(key) == to }, "the slot has a new owner")
}

func (c *Cluster) at(addr string) *RedisServer {
	for _, node := range c.Nodes {
		if node.Addr == addr {
			return node
		}
	}
	return nil
}

// A row is what one node says about another, or about itself.
type row struct {
	addr  string
	flags []string
	slots []string // "0-5460", "7", or "[7->-id]" for one that moves
}

func (r *row) has(flag string) bool {
	return slices.Contains(r.flags, flag)
}

func (r *row) owns(slot int) bool {
	for _, part := range r.slots {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		first, err := strconv.Atoi(low)
		if err != nil {
			continue // a slot that moves
		}
		if last, err := strconv.Atoi(high); err == nil && first <= slot && slot <= last {
			return true
		}
	}
	return false
}

// view is what a node knows of its cluster.
func (r *RedisServer) view() (rows []row, err error) {
	answer, err := r.ask("CLUSTER NODES")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(answer) {
		// id, host:port@bus,hostname, flags, master, times, epoch, link, slots
		words := strings.Fields(line)
		if len(words) < 8 {
			continue // the length of the answer
		}
		addr, _, _ := strings.Cut(words[1], "@")
		rows = append(rows, row{addr: addr, flags: strings.Split(words[2], ","), slots: words[8:]})
	}
	return rows, nil
}

// id is the name of a node within its cluster.
func (r *RedisServer) id() string {
	r.t.Helper()
	_, text, _ := strings.Cut(r.Command("CLUSTER MYID"), "\r\n")
	return strings.TrimSpace(text)
}
