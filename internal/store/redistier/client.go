package redistier

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
	lines *lines
}

var _ Redis = (*client)(nil)

func newClient(rdb redis.UniversalClient, log *slog.Logger) (*client, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	to, err := newLines(rdb, log)
	if err != nil {
		return nil, err
	}
	return &client{rdb: rdb, lines: to}, nil
}

// Get implements [Redis].
func (c *client) Get(ctx context.Context, key string) ([]byte, error) {
	return c.lines.ask(ctx, key, func(ctx context.Context, batch *redis.AutoPipeliner) ([]byte, error) {
		cmd := redis.NewStringCmd(ctx, "get", key)
		if err := batch.Submit(ctx, cmd).WaitContext(ctx); err != nil {
			return nil, err // cmd may still be written to
		}
		return cmd.Bytes()
	})
}

// Fill implements [Redis]. It does not wait long.
func (c *client) Fill(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	_, err := c.lines.ask(context.WithoutCancel(ctx), key, func(ctx context.Context, batch *redis.AutoPipeliner) ([]byte, error) {
		cmd := redis.NewStatusCmd(ctx, "set", key, value, "px", ttl.Milliseconds(), "nx")
		return nil, batch.Submit(ctx, cmd).WaitContext(ctx)
	})
	return err
}

// bury replaces whatever is known of a session by its tombstone and tells all
// instances, in one step.
var bury = redis.NewScript(`
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return redis.call('PUBLISH', ARGV[3], ARGV[1])`)

// Bury implements [Redis]. It tries also while requests do without.
func (c *client) Bury(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*patience)
	defer cancel()
	return bury.Run(ctx, c.rdb, []string{key}, value, ttl.Milliseconds(), channel).Err()
}
