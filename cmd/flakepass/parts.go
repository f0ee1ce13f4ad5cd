package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"

	"github.com/flakepass/flakepass/internal/account"
	"github.com/flakepass/flakepass/internal/config"
)

// newHasher is the pool in which passwords are hashed: as many at a time as is
// configured, and as many waiting as about two seconds can serve.
func newHasher(cfg config.Config) (*account.Hasher, error) {
	return account.NewHasher(account.DefaultParams(), cfg.HashWorkers, 32*cfg.HashWorkers)
}

// logRedis makes the Redis client, which would write to standard error in its
// own way, write to log. It is one logger for the whole process, so only
// commands call this, before they do anything else.
func logRedis(log *slog.Logger) { redis.SetLogger(redisLog{log}) }

// A redisLog passes on what the Redis client has to say: of servers and
// connections, never of values.
type redisLog struct{ log *slog.Logger }

// Printf is what the client calls.
func (l redisLog) Printf(ctx context.Context, format string, v ...any) {
	l.log.WarnContext(ctx, "redis client", "says", fmt.Sprintf(format, v...))
}
