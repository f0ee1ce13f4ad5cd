-- Every script begins with this file. KEYS[1] is the record of a namespace, a
-- hash. Its field "record" says who wrote it and since when:
--
--   1 <identity> <born> <reach> <skew> <numbers>
--
-- and each number that was lent since then has a field:
--
--   <kind> <token> <from> <fence> <seen> <holder>
--
-- kind is p (owned, chosen from the pool), o (owned, by an Only), f (given back
-- by that token). All times are Unix milliseconds; born and seen are by TIME.
local key = KEYS[1]
local reach, skew = tonumber(ARGV[1]), tonumber(ARGV[2])
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

-- Lua would write a large number as 1.7e+12.
local function text(n) return string.format('%.0f', n) end

-- digits reads what text wrote. Numbers of more digits would not be exact.
local function digits(s) return s and #s <= 15 and tonumber(s) end

-- identity is this server's, in this role: a restart, a promotion and a slot
-- that comes in change it. A server that does not say who it is, or that is a
-- replica, is not to be used.
local function identity()
  local replication = redis.call('INFO', 'replication')
  if string.match(replication, 'role:(%a+)') ~= 'master' then
    return nil, redis.error_reply('READONLY This server is a replica.')
  end
  local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
  local history = string.match(replication, 'master_replid:(%x+)')
  local epoch = '-'
  if string.match(redis.call('INFO', 'cluster'), 'cluster_enabled:(%d)') == '1' then
    epoch = string.match(redis.call('CLUSTER', 'INFO'), 'cluster_my_epoch:(%d+)')
  end
  if not (run and history and epoch) then
    return nil, redis.error_reply('ERR INFO does not tell run_id and master_replid, which redisworker needs.')
  end
  return run .. ':' .. history .. ':' .. epoch
end

local function describe(me, born, numbers)
  redis.call('HSET', key, 'record',
    '1 ' .. me .. ' ' .. text(born) .. ' ' .. text(reach) .. ' ' .. text(skew) .. ' ' .. numbers)
end

-- begin starts the record anew. What is there may be older than the truth, and
-- is not needed: all of it ends before the calm does.
local function begin(me, born)
  redis.call('DEL', key)
  describe(me, born, 0)
  return born
end

-- calm is the end of the calm of a record.
local function calm(born) return born + reach + 2 * skew end

-- record returns who this server is and when the record was born, or what to
-- answer instead. It begins a record if this server did not write all of what
-- is there.
local function record()
  local me, refusal = identity()
  if not me then return nil, nil, refusal end
  local is = redis.call('HGET', key, 'record')
  if is then
    local by, born, r, s, numbers = string.match(is, '^1 (%S+) (%d+) (%d+) (%d+) (%d+)$')
    born, r, s = digits(born), digits(r), digits(s)
    if not (by and born and r and s) then return nil, nil, {'broken', 'record'} end
    if r ~= reach or s ~= skew then return nil, nil, {'settings', text(r), text(s)} end
    if by == me and tonumber(numbers) == redis.call('HLEN', key) - 1 then return me, born end
  end
  return me, begin(me, now)
end

-- parse reads a number's field.
local function parse(field)
  local kind, token, from, fence, seen, holder = string.match(field, '^([pof]) (%S+) (%d+) (%d+) (%d+) (.*)$')
  from, fence, seen = digits(from), digits(fence), digits(seen)
  if not (kind and from and fence and seen) or from > fence then return nil end
  return {kind = kind, token = token, from = from, fence = fence, seen = seen, holder = holder}
end

-- seat reads one number: nil if it was not lent, and what to answer instead if
-- the field is not ours.
local function seat(number)
  local field = redis.call('HGET', key, number)
  if not field then return nil end
  local s = parse(field)
  if not s then return nil, {'broken', number} end
  return s
end

-- write keeps what a number is now, and says so to its owner.
local function write(me, born, number, s)
  s.seen = math.max(s.seen or 0, now)
  local field = s.kind .. ' ' .. s.token .. ' ' .. text(s.from) .. ' ' .. text(s.fence) .. ' ' .. text(s.seen) .. ' ' .. s.holder
  if redis.call('HSET', key, number, field) == 1 then
    describe(me, born, redis.call('HLEN', key) - 1)
  end
  return {'ok', number, text(s.from), text(s.fence)}
end
