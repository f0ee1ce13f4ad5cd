// Package redislimit keeps buckets in Redis, where all instances count together.
package redislimit

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/sony/gobreaker/v2"

	"github.com/flakepass/flakepass/internal/throttle"
)

const (
	// prefix is before each key, after the library's own.
	prefix = "fp:"
	// patience is how long an attempt waits for Redis before it does without.
	patience = 100 * time.Millisecond
	// pause is how long Redis is left alone after it failed several times.
	pause = time.Second
	// trips is how many failures in a row that takes.
	trips = 3
)

// A Store asks Redis after a store of this process, and refuses what either
// refuses. So while Redis is away every instance still knows its own share, and
// neither is there no limit, nor is anybody refused for it. Make one with [New].
type Store struct {
	limiter *redis_rate.Limiter
	near    throttle.Store
	breaker *gobreaker.CircuitBreaker[*redis_rate.Result]
}

var _ throttle.Store = (*Store)(nil)

// New returns a store in front of Redis. log hears when Redis is given up, and
// when it answers again.
func New(rdb redis.UniversalClient, near throttle.Store, log *slog.Logger) *Store {
	return &Store{
		limiter: redis_rate.NewLimiter(rdb), near: near,
		breaker: gobreaker.NewCircuitBreaker[*redis_rate.Result](gobreaker.Settings{
			Timeout:     pause,
			ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= trips },
			// A caller who leaves says nothing about Redis.
			IsExcluded: func(err error) bool { return errors.Is(err, context.Canceled) },
			OnStateChange: func(_ string, from, to gobreaker.State) {
				switch {
				case from == gobreaker.StateClosed:
					log.Warn("redis does not count attempts; each instance counts by itself")
				case to == gobreaker.StateClosed:
					log.Info("redis counts attempts again")
				}
			},
		}),
	}
}

// Take takes one attempt out of a bucket, here and in Redis.
func (s *Store) Take(ctx context.Context, key string, r throttle.Rule) throttle.Verdict {
	own := s.near.Take(ctx, key, r)
	if !own.Allowed || r.None() {
		return own
	}
	all, err := s.breaker.Execute(func() (*redis_rate.Result, error) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		return s.limiter.Allow(ctx, prefix+key, redis_rate.Limit{Rate: r.Count, Burst: r.Count, Period: r.Per})
	})
	if err != nil {
		return own
	}
	return throttle.Verdict{
		Allowed: all.Allowed > 0, Remaining: min(own.Remaining, all.Remaining),
		Retry: max(0, all.RetryAfter), Reset: max(own.Reset, all.ResetAfter),
	}
}

// Forget fills a bucket up, here and in Redis. If Redis cannot be told, it fills
// up by itself in time.
func (s *Store) Forget(ctx context.Context, key string) {
	s.near.Forget(ctx, key)
	_, _ = s.breaker.Execute(func() (*redis_rate.Result, error) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		return nil, s.limiter.Reset(ctx, prefix+key)
	})
}
