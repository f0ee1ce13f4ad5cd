// Package redislimit keeps buckets in Redis, where all instances count together.
package redislimit

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/sony/gobreaker/v2"

	"github.com/flakepass/flakepass/internal/throttle"
)

const (
	// prefix is before each key, after the library's own.
	prefix  = "fp:"
	library = "rate:"
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
	rdb     redis.UniversalClient
	limiter *redis_rate.Limiter
	near    throttle.Store
	periods throttle.Periods
	learnt  sync.Map // kinds and periods that Redis has been told of
	breaker *gobreaker.CircuitBreaker[*redis_rate.Result]
}

var _ throttle.Store = (*Store)(nil)

// New returns a store in front of Redis. log hears when Redis is given up, and
// when it answers again.
func New(rdb redis.UniversalClient, near throttle.Store, log *slog.Logger) *Store {
	return &Store{
		rdb: rdb, limiter: redis_rate.NewLimiter(rdb), near: near,
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

// Take takes attempts out of a bucket, here and in Redis.
func (s *Store) Take(ctx context.Context, b throttle.Bucket) throttle.Verdict {
	own := s.near.Take(ctx, b)
	if !own.Allowed || b.Rule.None() {
		return own
	}
	all, err := s.breaker.Execute(func() (*redis_rate.Result, error) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		if err := s.succeed(ctx, b); err != nil {
			return nil, err
		}
		return s.limiter.AllowN(ctx, name(b.Key, b.Rule.Per), redis_rate.Limit{Rate: b.Rule.Count, Burst: b.Rule.Count, Period: b.Rule.Per}, max(1, b.N))
	})
	if err != nil {
		return own
	}
	return throttle.Verdict{
		Allowed: all.Allowed > 0, Remaining: min(own.Remaining, all.Remaining),
		Retry: max(0, all.RetryAfter), Reset: max(own.Reset, all.ResetAfter), Shared: true,
	}
}

// Return puts attempts back, here, and in Redis if that has said that it
// counted it: who could make it lose an answer would else have more attempts
// than there are.
func (s *Store) Return(ctx context.Context, b throttle.Bucket, v throttle.Verdict) {
	s.near.Return(ctx, b, v)
	if !v.Shared {
		return
	}
	s.try(ctx, func(ctx context.Context) error {
		return giveBack.Run(ctx, s.rdb, []string{library + name(b.Key, b.Rule.Per)}, b.Cost().Seconds()).Err()
	})
}

// Forget fills all buckets of a key up, here and in Redis, also those that only
// others have counted by. If Redis cannot be told, they fill up by themselves in
// time.
func (s *Store) Forget(ctx context.Context, key string) {
	s.near.Forget(ctx, key)
	s.try(ctx, func(ctx context.Context) error {
		periods, err := s.all(ctx, key)
		if err != nil || len(periods) == 0 {
			return err
		}
		names := make([]string, len(periods))
		for i, per := range periods {
			names[i] = library + name(key, per)
		}
		return s.rdb.Del(ctx, names...).Err()
	})
}

// try asks Redis for what need not succeed.
func (s *Store) try(ctx context.Context, f func(ctx context.Context) error) {
	_, _ = s.breaker.Execute(func() (*redis_rate.Result, error) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		return nil, f(ctx)
	})
}

// name is that of the bucket of a key and a period, behind what the library puts
// before it. All buckets of a key are in one slot of a cluster.
func name(key string, per time.Duration) string {
	return prefix + "{" + key + "}@" + strconv.FormatInt(per.Milliseconds(), 10)
}
