package redisstore

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flakepass/flakepass/internal/domain/ratelimit"
)

// longest is longer than the period of any rule.
const longest = 400 * 24 * time.Hour

// known is before the keys of the sets of periods by which a kind was counted.
const known = "fp:periods:"

// learn notes in Redis, once, that a kind of key is counted by that period, and
// asks by which ones it was before.
func (s *Buckets) learn(ctx context.Context, kind string, per time.Duration) error {
	type learnt struct {
		kind string
		per  time.Duration
	}
	if _, done := s.learnt.Load(learnt{kind, per}); done {
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
	for _, per := range periodsIn(before.Val()) {
		s.periods.Learn(kind, per, time.Now())
	}
	s.learnt.Store(learnt{kind, per}, true)
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
