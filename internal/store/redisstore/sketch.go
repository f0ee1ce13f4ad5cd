package redisstore

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flakepass/flakepass/internal/domain/ratelimit"
)

// The buckets of one kind and period are a sketch, as in memory, with as
// many cells, of 64 bits each: when all attempts are there again, in microseconds
// of the clock of Redis. It is cut into shards, so that the nodes of a cluster
// share the work: a shard is one string, and all cells of a bucket are in one. So
// the number of keys and their memory are bounded, whatever strangers send. A
// shard ends one period after its last attempt: then all that anybody has used is
// there again.
const (
	shards = 64
	rows   = ratelimit.SketchRows
)

// A spot is where the buckets of one key are.
type spot struct {
	kind  string
	shard int
	cell  [rows]int
}

// at finds the cells of a key.
func (s *Buckets) at(key string) spot {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte("shared limit\x00" + key))
	sum := mac.Sum(nil)
	p := spot{kind: ratelimit.Kind(key), shard: int(sum[0]) % shards}
	width := ratelimit.SketchWidth(p.kind) / shards
	for i := range p.cell {
		p.cell[i] = i*width + int(binary.BigEndian.Uint16(sum[1+2*i:]))%width
	}
	return p
}

// name is that of the key in Redis. All periods of a shard are in one slot of a
// cluster.
func (p spot) name(per time.Duration) string {
	return fmt.Sprintf("%s{%02d}:%s@%d", prefix, p.shard, p.kind, per.Milliseconds())
}

// cells are the first arguments of every script here.
func (p spot) cells() []any {
	args := make([]any, rows, rows+5)
	for i, c := range p.cell {
		args[i] = c
	}
	return args
}

// library is what all scripts share: the time, how the cells of a key are read and
// written, and how much is used of the bucket in them.
const library = `
local time = redis.call("TIME")
local now = time[1] * 1000000 + time[2]
local function read(key)
  local is = redis.call("BITFIELD", key, "GET", "i64", "#" .. ARGV[1], "GET", "i64", "#" .. ARGV[2], "GET", "i64", "#" .. ARGV[3], "GET", "i64", "#" .. ARGV[4])
  local used
  for i = 1, 4 do
    is[i] = math.max(is[i], now)
    used = math.min(used or is[i], is[i])
  end
  return is, used - now
end
local function text(n) return string.format("%.0f", n) end
local function change(key, is, by, per)
  for i = 1, 4 do is[i] = text(math.max(now, is[i] + by)) end
  redis.call("BITFIELD", key, "SET", "i64", "#" .. ARGV[1], is[1], "SET", "i64", "#" .. ARGV[2], is[2], "SET", "i64", "#" .. ARGV[3], is[3], "SET", "i64", "#" .. ARGV[4], is[4])
  redis.call("PEXPIRE", key, per + 1000)
end
`

// takeAll takes attempts, all or none, out of the bucket of the first key. The other keys are
// buckets of the same key under earlier rules. The script finds the largest share that is used of
// one of them, and empties them. It has at least that share of the first bucket be used. It returns
// whether the attempts are allowed, the time, and what was used before them.
var takeAll = redis.NewScript(library + `
local cost, per, rounding = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local share = 0
for i = 2, #KEYS do
  local is, used = read(KEYS[i])
  local was = tonumber(ARGV[6 + i])
  if used > 0 then
    share = math.max(share, math.min(1, used / (was * 1000)))
    change(KEYS[i], is, -used, was)
  end
end
local is, used = read(KEYS[1])
local debt = math.floor(share * per * 1000) - used
if debt > 0 then
  change(KEYS[1], is, debt, per)
  is, used = read(KEYS[1])
end
if used + cost - per * 1000 > rounding then return {0, now, used} end
change(KEYS[1], is, cost, per)
return {1, now, used}
`)

// giveBack takes back what a Take has taken, as [ratelimit.Receipt.Unused] says.
var giveBack = redis.NewScript(library + `
local is = read(KEYS[1])
local idle = math.max(0, now - tonumber(ARGV[6]) - tonumber(ARGV[7]))
change(KEYS[1], is, -math.max(0, tonumber(ARGV[5]) - idle), tonumber(ARGV[8]))
return 1
`)

// forget takes back all that is used of the buckets of one key.
var forget = redis.NewScript(library + `
for i, key in ipairs(KEYS) do
  local is, used = read(key)
  if used > 0 then change(key, is, -used, tonumber(ARGV[4 + i])) end
end
return 1
`)

// take asks for attempts.
func (s *Buckets) take(ctx context.Context, b ratelimit.Bucket, donors []time.Duration) ([]int64, error) {
	at := s.at(b.Key)
	keys, args := []string{at.name(b.Rule.Per)}, append(at.cells(), max(1, b.Cost().Microseconds()), b.Rule.Per.Milliseconds(),
		b.Rule.Interval().Microseconds()/100)
	for _, per := range donors {
		keys, args = append(keys, at.name(per)), append(args, per.Milliseconds())
	}
	return takeAll.Run(ctx, s.rdb, keys, args...).Int64Slice()
}
