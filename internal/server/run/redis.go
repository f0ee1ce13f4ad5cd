package run

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flakepass/flakepass/internal/domain/fleet"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/server/config"
	"github.com/flakepass/flakepass/internal/store/redisstore"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// LogRedis makes the Redis client, which would write to standard error in its
// own way, write to log. It is one logger for the whole process, so only
// commands call this, before they do anything else.
func LogRedis(log *slog.Logger) { redis.SetLogger(redisLog{log}) }

// A redisLog passes on what the Redis client has to say: of servers and
// connections, never of values. It says it again for every connection that it
// tries; what an operator has to know the shared tier logs itself, once.
type redisLog struct{ log *slog.Logger }

// Printf is what the client calls.
func (l redisLog) Printf(ctx context.Context, format string, v ...any) {
	l.log.DebugContext(ctx, "redis client", "says", fmt.Sprintf(format, v...))
}

// A sharedTier is the tier that all instances share, or its absence.
type sharedTier struct {
	session.Store                      // the tier, or the next one if there is no Redis
	redis         *redisstore.Sessions // nil if there is no Redis
	rdb           redis.UniversalClient
	where         string // the place of Redis, without anything secret
}

// Shared puts the tier that all instances share in front of next, if Redis is
// configured. Otherwise it is absent. It does not talk to Redis. o need hold no
// more than hooks and the log: the key of the deployment is read if it is not there.
func Shared(ctx context.Context, cfg config.Config, db *sqlstore.DB, next session.Store, o redisstore.Options) (sharedTier, error) {
	if cfg.Redis.IsZero() {
		return sharedTier{Store: next}, nil
	}
	o.Bound = cfg.RevocationBound
	if o.Key == nil {
		var err error
		if o.Key, err = (&sqlstore.Settings{DB: db}).CacheKey(ctx); err != nil {
			return sharedTier{}, err
		}
	}
	rdb := openRedis(cfg.Redis)
	o.Number = cfg.Redis.DB
	tier, err := redisstore.NewSessions(rdb, next, o)
	if err != nil {
		return sharedTier{}, errors.Join(err, rdb.Close())
	}
	return sharedTier{Store: tier, redis: tier, rdb: rdb, where: cfg.Redis.Where()}, nil
}

// openRedis returns a client for the configured Redis. It does not connect.
func openRedis(r config.Redis) redis.UniversalClient {
	return redisstore.Open(redisstore.Server{
		Addrs: r.Addrs, Master: r.Master, Cluster: r.Mode == config.RedisCluster, TLS: r.TLS,
		Username: r.Username, Password: r.Password.Reveal(), DB: r.DB,
		SentinelUsername: r.SentinelUsername, SentinelPassword: r.SentinelPassword.Reveal(),
	})
}

func (s sharedTier) Close() {
	if s.rdb != nil {
		_ = s.rdb.Close()
	}
}

// redisPatience is how long the start waits for the first answer of Redis.
const redisPatience = 500 * time.Millisecond

// greet asks Redis once, logs why it cannot be used, and returns its state for the
// greeting. The server starts in any case: Redis may come back, and everything works
// without it.
func (w *redisWatch) greet(ctx context.Context) string {
	switch why := w.look(ctx); why {
	case fleet.RedisNone:
		return "none"
	case fleet.RedisGood:
		return "yes"
	default:
		return fmt.Sprintf("%s (%s)", why.Error(), w.common.where)
	}
}

// A redisWatch logs that Redis cannot be used, once, and once that it can again: that it
// is full, or a replica, shows in no answer to a question. That it is silent it logs at the
// start only, for requests notice that themselves.
type redisWatch struct {
	common sharedTier
	bound  time.Duration
	log    *slog.Logger

	asked, broken atomic.Bool
}

// look asks Redis how it is doing.
func (w *redisWatch) look(ctx context.Context) fleet.Trouble {
	why, err := w.common.health(ctx)
	before := w.asked.Swap(true)
	switch {
	case err == nil:
		if w.broken.CompareAndSwap(true, false) {
			w.log.InfoContext(ctx, "redis (FLAKEPASS_REDIS) can be used again", "at", w.common.where)
		}
	case before && why == fleet.RedisSilent:
	case w.broken.CompareAndSwap(false, true):
		w.log.WarnContext(ctx, "redis (FLAKEPASS_REDIS) cannot be used now; everything but FLAKEPASS_WORKER=redis works without it, "+
			"but a logout reaches other instances within the bound instead of at once, and each asks the database by itself",
			"redis", why.Error(), "at", w.common.where, "bound", w.bound, "err", err)
	}
	return why
}
