package redisstore

import (
	"context"
	"log/slog"
	"sync"

	"github.com/redis/go-redis/v9"
)

// A node is one server: where the commands of concurrent requests are gathered,
// and what is known of its health. Each server has its own, so that one of a
// cluster which stands still does not hold up the requests to another.
type node struct {
	gatherer
	*breaker
}

// nodes are all servers.
type nodes struct {
	all     *node                // the one server; in a cluster, wherever a command is sent on to
	cluster *redis.ClusterClient // nil if there is but one server
	log     *slog.Logger
	wait    patience
	// known are the servers of a cluster, by address. One that goes away leaves its few
	// bytes here.
	known sync.Map // string to *node
}

func newNodes(rdb redis.UniversalClient, log *slog.Logger) *nodes {
	cluster, _ := rdb.(*redis.ClusterClient)
	return &nodes{all: &node{gatherer{to: rdb}, newHealth("", log)}, cluster: cluster, log: log}
}

// newHealth makes the breaker of the server with that address; empty if there is but
// one, or none is known.
func newHealth(addr string, log *slog.Logger) *breaker {
	if addr != "" {
		log = log.With("server", addr)
	}
	return &breaker{log: log, gone: "redis does not answer; going on without", back: "redis answers again"}
}

// ask sends a command to the server of a key, and waits for as long as a
// request may. It calls send for a new command each time: that of a caller who
// stopped waiting may still be written to.
func (n *nodes) ask(ctx context.Context, key string, send func() redis.Cmder) error {
	to, err := n.of(ctx, key)
	if err != nil {
		return err
	}
	return to.do(func() error {
		late := n.wait.begin()
		err := to.ask(ctx, late, send())
		if answered(err) {
			return err
		}
		_, moved := redis.IsMovedError(err)
		_, leaving := redis.IsAskError(err)
		if moved || leaving { // the slot goes to another server, which the cluster's client finds
			return n.all.ask(ctx, late, send())
		}
		return err
	})
}

// of is the server of a key.
func (n *nodes) of(ctx context.Context, key string) (*node, error) {
	if n.cluster == nil {
		return n.all, nil
	}
	var master *redis.Client
	// Only the first question to a cluster, until it was answered, has to
	// ask who has which key.
	if err := n.all.do(func() (err error) {
		ctx, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		master, err = n.cluster.MasterForKey(ctx, key)
		return err
	}); err != nil {
		return nil, err
	}
	addr := master.Options().Addr
	found, ok := n.known.Load(addr)
	if !ok {
		found, _ = n.known.LoadOrStore(addr, &node{gatherer{to: master}, newHealth(addr, n.log)})
	}
	known, _ := found.(*node) // nothing else is stored
	if known.to != master {   // the cluster's client has closed the one of before
		known = &node{gatherer{to: master}, known.breaker}
		n.known.Store(addr, known)
	}
	return known, nil
}
