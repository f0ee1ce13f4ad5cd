package redistier

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/sony/gobreaker/v2"
)

// patience is how long a request waits for Redis before it does without.
const patience = 100 * time.Millisecond

// A client is a [Redis] behind a breaker: while Redis does not answer, requests
// do not ask it.
type client struct {
	rdb     redis.UniversalClient
	batch   *redis.AutoPipeliner // gathers the commands of concurrent requests
	breaker *gobreaker.CircuitBreaker[[]byte]
}

var _ Redis = (*client)(nil)

func newClient(rdb redis.UniversalClient, log *slog.Logger) (*client, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	// Not the blocking face: its callers wait for Redis whatever their context
	// says.
	batch, err := rdb.AsyncAutoPipeline()
	if err != nil {
		return nil, err
	}
	c := &client{rdb: rdb, batch: batch}
	c.breaker = gobreaker.NewCircuitBreaker[[]byte](gobreaker.Settings{
		Name:    "redis",
		Timeout: time.Second, // how long Redis is left alone before the next try
		ReadyToTrip: func(c gobreaker.Counts) bool {
			return c.ConsecutiveFailures >= 3
		},
		IsSuccessful: func(err error) bool {
			return err == nil || errors.Is(err, redis.Nil) || errors.Is(err, context.Canceled)
		},
		OnStateChange: func(_ string, _, to gobreaker.State) {
			switch to {
			case gobreaker.StateOpen:
				log.Warn("redis does not answer; going on without")
			case gobreaker.StateClosed:
				log.Info("redis answers again")
			}
		},
	})
	return c, nil
}

// Get implements [Redis].
func (c *client) Get(ctx context.Context, key string) ([]byte, error) {
	return c.breaker.Execute(func() ([]byte, error) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		cmd := redis.NewStringCmd(ctx, "get", key)
		if err := c.batch.Submit(ctx, cmd).WaitContext(ctx); err != nil {
			return nil, err // cmd may still be written to
		}
		return cmd.Bytes()
	})
}

// Fill implements [Redis]. It does not wait long.
func (c *client) Fill(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	_, err := c.breaker.Execute(func() ([]byte, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		cmd := redis.NewStatusCmd(ctx, "set", key, value, "px", ttl.Milliseconds(), "nx")
		return nil, c.batch.Submit(ctx, cmd).WaitContext(ctx)
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
