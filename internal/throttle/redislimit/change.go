package redislimit

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flakepass/flakepass/internal/throttle"
)

// What follows reads and writes what the library keeps of a bucket: the moment at
// which it is full, in seconds since 2017 by the clock of Redis. The tests of
// this package notice if that changes.
const clock = `
local now = redis.call("TIME")
now = (now[1] - 1483228800) + (now[2] / 1000000)
`

// longest is longer than the period of any rule.
const longest = 400 * 24 * time.Hour

// giveBack moves that moment back by the time of one attempt.
var giveBack = redis.NewScript(clock + `
local full = redis.call("GET", KEYS[1])
if not full then return 0 end
full = tonumber(full) - tonumber(ARGV[1])
if full > now then
  redis.call("SET", KEYS[1], full, "EX", math.ceil(full - now))
else
  redis.call("DEL", KEYS[1])
end
return 1
`)

// succession uses as much of the first bucket as is used of that of the others of
// which most is used, and removes the others.
var succession = redis.NewScript(clock + `
local share = 0
for i = 2, #KEYS do
  local full = redis.call("GET", KEYS[i])
  if full then
    share = math.max(share, math.min(1, (tonumber(full) - now) / tonumber(ARGV[i])))
    redis.call("DEL", KEYS[i])
  end
end
local debt = share * tonumber(ARGV[1])
local own = redis.call("GET", KEYS[1])
if debt > 0 and not (own and tonumber(own) >= now + debt) then
  redis.call("SET", KEYS[1], now + debt, "EX", math.ceil(debt))
end
return 1
`)

// succeed makes b the heir of the buckets of the rules before, where a rule has
// changed. What these were an instance knows that has counted by them, and Redis
// for one that was started since.
func (s *Store) succeed(ctx context.Context, b throttle.Bucket) error {
	if err := s.learn(ctx, throttle.Kind(b.Key), b.Rule.Per); err != nil {
		return err
	}
	donors := s.periods.Donors(b, time.Now())
	if donors == nil {
		return nil
	}
	keys, seconds := []string{library + name(b.Key, b.Rule.Per)}, []any{b.Rule.Per.Seconds()}
	for _, per := range donors {
		keys, seconds = append(keys, library+name(b.Key, per)), append(seconds, per.Seconds())
	}
	return succession.Run(ctx, s.rdb, keys, seconds...).Err()
}

// learn tells Redis, once, that a kind of key is counted by that period, and
// asks by which ones it was before.
func (s *Store) learn(ctx context.Context, kind string, per time.Duration) error {
	type learnt struct {
		kind string
		per  time.Duration
	}
	if _, done := s.learnt.Load(learnt{kind, per}); done {
		return nil
	}
	set, ms := prefix+"periods:"+kind, strconv.FormatInt(per.Milliseconds(), 10)
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
func (s *Store) all(ctx context.Context, key string) (periods []time.Duration, err error) {
	there, err := s.rdb.SMembers(ctx, prefix+"periods:"+throttle.Kind(key)).Result()
	if err != nil {
		return nil, err
	}
	periods = append(s.periods.Of(key), periodsIn(there)...)
	slices.Sort(periods)
	return slices.Compact(periods), nil
}

// periodsIn are those that Redis knows. What else somebody has put there is no
// period of a rule.
func periodsIn(texts []string) (periods []time.Duration) {
	for _, text := range texts {
		if ms, err := strconv.ParseInt(text, 10, 64); err == nil && ms > 0 && ms <= longest.Milliseconds() {
			periods = append(periods, time.Duration(ms)*time.Millisecond)
		}
	}
	return periods
}
