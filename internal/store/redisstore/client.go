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

func newClient(rdb redis.UniversalClient, log *slog.Logger) (*client, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	all, err := newNodes(rdb, log)
	if err != nil {
		return nil, err
	}
	return &client{rdb: rdb, nodes: all}, nil
}

// Get implements [Redis].
func (c *client) Get(ctx context.Context, key string) ([]byte, error) {
	return c.nodes.ask(ctx, key, func(ctx context.Context, batch *redis.AutoPipeliner) ([]byte, error) {
		cmd := redis.NewStringCmd(ctx, "get", key)
		if err := batch.Submit(ctx, cmd).WaitContext(ctx); err != nil {
			return nil, err // cmd may still be written to
		}
		return cmd.Bytes()
	})
}

// Fill implements [Redis]. It does not wait long.
func (c *client) Fill(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	_, err := c.nodes.ask(context.WithoutCancel(ctx), key, func(ctx context.Context, batch *redis.AutoPipeliner) ([]byte, error) {
		cmd := redis.NewStatusCmd(ctx, "set", key, value, "px", ttl.Milliseconds(), "nx")
		return nil, batch.Submit(ctx, cmd).WaitContext(ctx)
	})
	return err
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
