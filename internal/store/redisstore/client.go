package redisstore

import (
	"context"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"
)

// A client is a [Redis] behind breakers: while a server does not answer,
// requests do not ask it.
type client struct {
	rdb   redis.UniversalClient
	nodes *nodes
}

var _ Redis = (*client)(nil)

func newClient(rdb redis.UniversalClient, log *slog.Logger) *client {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &client{rdb: rdb, nodes: newNodes(rdb, log)}
}

// Get implements [Redis].
func (c *client) Get(ctx context.Context, key string) ([]byte, error) {
	var cmd *redis.StringCmd
	if err := c.nodes.ask(ctx, key, func() redis.Cmder {
		cmd = redis.NewStringCmd(ctx, "get", key)
		return cmd
	}); err != nil {
		return nil, err // cmd may still be written to
	}
	return cmd.Bytes()
}

// Fill implements [Redis]. It does not wait long.
func (c *client) Fill(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	ctx = context.WithoutCancel(ctx)
	return c.nodes.ask(ctx, key, func() redis.Cmder {
		return redis.NewStatusCmd(ctx, "set", key, value, "px", ttl.Milliseconds(), "nx")
	})
}

// publishEnd replaces what is known of a session by its tombstone and tells all
// instances, in one step.
var publishEnd = redis.NewScript(`
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return redis.call('PUBLISH', ARGV[3], ARGV[1])`)

// End implements [Redis]. It tries also while requests do without.
func (c *client) End(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*askTimeout)
	defer cancel()
	return publishEnd.Run(ctx, c.rdb, []string{key}, value, ttl.Milliseconds(), channel).Err()
}
