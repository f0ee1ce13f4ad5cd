package redistier

import (
	"context"
	"log/slog"
	"sync"

	"github.com/redis/go-redis/v9"
)

// A line is the way to one server: where the commands of concurrent requests
// are gathered, and what is known of its health. Each server has its own, so
// that one of a cluster which stands still holds up nobody who asks another.
type line struct {
	batch *redis.AutoPipeliner
	*breaker
}

// lines are the ways to all servers.
type lines struct {
	all     line                 // to the one server; in a cluster, to wherever a command is sent on to
	cluster *redis.ClusterClient // nil if there is but one server
	log     *slog.Logger
	// nodes is what is known of the health of a cluster's servers, by address. A
	// server that goes away leaves its few bytes here.
	nodes sync.Map // string to *breaker
}

func newLines(rdb redis.UniversalClient, log *slog.Logger) (*lines, error) {
	// Not the blocking face: its callers wait for Redis whatever their context
	// says.
	batch, err := rdb.AsyncAutoPipeline()
	if err != nil {
		return nil, err
	}
	cluster, _ := rdb.(*redis.ClusterClient)
	return &lines{all: line{batch, newBreaker("", log)}, cluster: cluster, log: log}, nil
}

// ask sends a command to the server of a key, and waits for as long as a
// request may. send must make a new command each time: that of a caller who
// stopped waiting may still be written to.
func (l *lines) ask(ctx context.Context, key string, send func(context.Context, *redis.AutoPipeliner) ([]byte, error)) ([]byte, error) {
	to, err := l.to(ctx, key)
	if err != nil {
		return nil, err
	}
	return to.do(func() ([]byte, error) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		value, err := send(ctx, to.batch)
		_, moved := redis.IsMovedError(err)
		_, leaving := redis.IsAskError(err)
		if moved || leaving { // the slot goes to another server, which the cluster's client finds
			return send(ctx, l.all.batch)
		}
		return value, err
	})
}

// to is the line to the server of a key.
func (l *lines) to(ctx context.Context, key string) (line, error) {
	if l.cluster == nil {
		return l.all, nil
	}
	var node *redis.Client
	// Only the first question to a cluster, until somebody has answered it, has to
	// ask who has which key.
	_, err := l.all.do(func() (_ []byte, err error) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		node, err = l.cluster.MasterForKey(ctx, key)
		return nil, err
	})
	if err != nil {
		return line{}, err
	}
	batch, err := node.AsyncAutoPipeline()
	if err != nil {
		return line{}, err
	}
	addr := node.Options().Addr
	known, ok := l.nodes.Load(addr)
	if !ok {
		known, _ = l.nodes.LoadOrStore(addr, newBreaker(addr, l.log))
	}
	b, _ := known.(*breaker) // nothing else is stored
	return line{batch, b}, nil
}
