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
	batch *redis.AutoPipeliner
	*breaker[[]byte]
}

// nodes are all servers.
type nodes struct {
	all     node                 // the one server; in a cluster, wherever a command is sent on to
	cluster *redis.ClusterClient // nil if there is but one server
	log     *slog.Logger
	// health is what is known of the servers of a cluster, by address. A server that
	// goes away leaves its few bytes here.
	health sync.Map // string to *breaker[[]byte]
}

func newNodes(rdb redis.UniversalClient, log *slog.Logger) (*nodes, error) {
	// Not the blocking face: its callers wait for Redis whatever their context
	// says.
	batch, err := rdb.AsyncAutoPipeline()
	if err != nil {
		return nil, err
	}
	cluster, _ := rdb.(*redis.ClusterClient)
	return &nodes{all: node{batch, newHealth("", log)}, cluster: cluster, log: log}, nil
}

// newHealth makes the breaker of the server with that address; empty if there is but
// one, or none is known.
func newHealth(addr string, log *slog.Logger) *breaker[[]byte] {
	if addr != "" {
		log = log.With("server", addr)
	}
	return newBreaker[[]byte](log, "redis does not answer; going on without", "redis answers again")
}

// ask sends a command to the server of a key, and waits for as long as a
// request may. send must make a new command each time: that of a caller who
// stopped waiting may still be written to.
func (n *nodes) ask(ctx context.Context, key string, send func(context.Context, *redis.AutoPipeliner) ([]byte, error)) ([]byte, error) {
	to, err := n.of(ctx, key)
	if err != nil {
		return nil, err
	}
	return to.do(func() ([]byte, error) {
		ctx, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		value, err := send(ctx, to.batch)
		_, moved := redis.IsMovedError(err)
		_, leaving := redis.IsAskError(err)
		if moved || leaving { // the slot goes to another server, which the cluster's client finds
			return send(ctx, n.all.batch)
		}
		return value, err
	})
}

// of is the server of a key.
func (n *nodes) of(ctx context.Context, key string) (node, error) {
	if n.cluster == nil {
		return n.all, nil
	}
	var master *redis.Client
	// Only the first question to a cluster, until it was answered, has to
	// ask who has which key.
	_, err := n.all.do(func() (_ []byte, err error) {
		ctx, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		master, err = n.cluster.MasterForKey(ctx, key)
		return nil, err
	})
	if err != nil {
		return node{}, err
	}
	batch, err := master.AsyncAutoPipeline()
	if err != nil {
		return node{}, err
	}
	addr := master.Options().Addr
	known, ok := n.health.Load(addr)
	if !ok {
		known, _ = n.health.LoadOrStore(addr, newHealth(addr, n.log))
	}
	b, _ := known.(*breaker[[]byte]) // nothing else is stored
	return node{batch, b}, nil
}
