package redisstore

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flakepass/flakepass/internal/domain/ratelimit"
)

// prefix is before each key of a sketch.
const prefix = "fp:limit:"

// Buckets counts an attempt first in a store of this process, and then in Redis. It refuses what
// either refuses. So while Redis is away, every instance still limits by its own count, and nobody
// is refused because Redis is away. Make one with [NewBuckets].
type Buckets struct {
	rdb     redis.UniversalClient
	key     []byte
	near    ratelimit.Store
	periods ratelimit.Periods
	learnt  sync.Map // kinds and periods that Redis has been given, and when
	breaker *breaker
}

var _ ratelimit.Store = (*Buckets)(nil)

// NewBuckets returns a store in front of Redis. key is that of the deployment: it decides
// which buckets share cells, which strangers must not know. log gets a line when
// Redis is given up, and when it answers again.
func NewBuckets(rdb redis.UniversalClient, near ratelimit.Store, key []byte, log *slog.Logger) *Buckets {
	return &Buckets{
		rdb: rdb, key: key, near: near,
		breaker: &breaker{log: log, gone: "redis does not count attempts; each instance counts by itself", back: "redis counts attempts again"},
	}
}

// Take takes attempts out of a bucket, here and in Redis. What Redis refuses
// takes nothing here.
func (s *Buckets) Take(ctx context.Context, b ratelimit.Bucket) ratelimit.Verdict {
	own := s.near.Take(ctx, b)
	if !own.Allowed || b.Rule.None() {
		return own
	}
	all, err := s.ask(ctx, func(ctx context.Context) ([]int64, error) {
		if err := s.learn(ctx, ratelimit.Kind(b.Key), b.Rule.Per); err != nil {
			return nil, err
		}
		return s.take(ctx, b, s.periods.Donors(b, time.Now()))
	})
	if err != nil || len(all) != 3 {
		return own
	}
	at, used := time.UnixMicro(all[1]), time.Duration(all[2])*time.Microsecond
	if all[0] == 0 {
		s.near.Return(ctx, b, own)
		return ratelimit.Verdict{Retry: max(0, used+b.Cost()-b.Rule.Per), Reset: max(own.Reset, min(used, b.Rule.Per))}
	}
	after := used + b.Cost()
	return ratelimit.Verdict{
		Allowed: true, Remaining: min(own.Remaining, b.Left(after)), Reset: max(own.Reset, after),
		Near: own.Near, Shared: ratelimit.Receipt{At: at, Used: used},
	}
}

// Return puts attempts back here. It puts them back in Redis only if Redis has answered that it
// counted them. Otherwise a client that could make an answer of Redis get lost would have more
// attempts than the rule allows.
func (s *Buckets) Return(ctx context.Context, b ratelimit.Bucket, v ratelimit.Verdict) {
	s.near.Return(ctx, b, v)
	if v.Shared.At.IsZero() {
		return
	}
	_, _ = s.ask(ctx, func(ctx context.Context) ([]int64, error) {
		at := s.at(b.Key)
		return nil, giveBack.Run(ctx, s.rdb, []string{at.name(b.Rule.Per)}, append(at.cells(), b.Cost().Microseconds(),
			v.Shared.At.UnixMicro(), v.Shared.Used.Microseconds(), b.Rule.Per.Milliseconds())...).Err()
	})
}

// Forget fills all buckets of a key up, here and in Redis, also those that only
// others have counted by. If Redis cannot be reached, they fill up by themselves in
// time.
func (s *Buckets) Forget(ctx context.Context, key string) {
	s.near.Forget(ctx, key)
	_, _ = s.ask(ctx, func(ctx context.Context) ([]int64, error) {
		periods, err := s.all(ctx, key)
		if err != nil || len(periods) == 0 {
			return nil, err
		}
		at := s.at(key)
		names, args := make([]string, len(periods)), at.cells()
		for i, per := range periods {
			names[i], args = at.name(per), append(args, per.Milliseconds())
		}
		return nil, forget.Run(ctx, s.rdb, names, args...).Err()
	})
}

// ask asks Redis, unless it is given up. It does so also if the client has left: it waits for askTimeout
// at most, and what the client has left is to be counted right.
func (s *Buckets) ask(ctx context.Context, f func(ctx context.Context) ([]int64, error)) (answer []int64, err error) {
	err = s.breaker.do(func() (err error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
		defer cancel()
		answer, err = f(ctx)
		return err
	})
	return answer, err
}

// longest is longer than the period of any rule.
const longest = 400 * 24 * time.Hour

// known is before the keys of the sets of periods by which a kind was counted.
const known = "fp:periods:"

// noteAgain is how often a period is noted in Redis again, which may have lost it.
const noteAgain = time.Minute

// learn notes in Redis that a kind of key is counted by that period, and
// asks once by which ones it was before.
func (s *Buckets) learn(ctx context.Context, kind string, per time.Duration) error {
	type learnt struct {
		kind string
		per  time.Duration
	}
	noted, done := s.learnt.Load(learnt{kind, per})
	if at, _ := noted.(time.Time); done && time.Since(at) < noteAgain {
		return nil
	}
	set, ms := known+kind, strconv.FormatInt(per.Milliseconds(), 10)
	var before *redis.StringSliceCmd
	if _, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.SAdd(ctx, set, ms)
		before = p.SMembers(ctx, set)
		return nil
	}); err != nil {
		return err
	}
	s.learnt.Store(learnt{kind, per}, time.Now())
	if done { // what was in force before is known, and need not be looked at for ever
		return nil
	}
	for _, per := range periodsIn(before.Val()) {
		s.periods.Learn(kind, per, time.Now())
	}
	return nil
}

// all are the periods of the buckets that there may be of that key: those that
// this instance has counted by, and those of the others.
func (s *Buckets) all(ctx context.Context, key string) (periods []time.Duration, err error) {
	there, err := s.rdb.SMembers(ctx, known+ratelimit.Kind(key)).Result()
	if err != nil {
		return nil, err
	}
	periods = append(s.periods.Of(key), periodsIn(there)...)
	slices.Sort(periods)
	return slices.Compact(periods), nil
}

// periodsIn are those that Redis knows. What else was put there is no
// period of a rule.
func periodsIn(texts []string) (periods []time.Duration) {
	for _, text := range texts {
		if ms, err := strconv.ParseInt(text, 10, 64); err == nil && ms > 0 && ms <= longest.Milliseconds() {
			periods = append(periods, time.Duration(ms)*time.Millisecond)
		}
	}
	return periods
}
