-- ARGV: reach, skew, token, kind, holder, window, the caller's clock, stale,
-- how many numbers there are, the one number or ''.
local token, kind, holder = ARGV[3], ARGV[4], ARGV[5]
local window, at, stale, numbers, only = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9]), ARGV[10]

local me, born, refusal = record()
if refusal then return refusal end

local seats = {}
local fields = redis.call('HGETALL', key)
for i = 1, #fields, 2 do
  if fields[i] ~= 'record' then
    local n, s = digits(string.match(fields[i], '^%d+$')), parse(fields[i + 1])
    if not (n and s) then return {'broken', fields[i]} end
    -- The client has sent this before and did not hear the answer.
    if s.token == token then return write(me, born, fields[i], s) end
    seats[n] = s
  end
end

if now < calm(born) then return {'wait', text(calm(born)), text(now), 'calm'} end
-- Whatever was lent before this record began ends before the calm.
at = math.max(at, calm(born))
if at + window > now + reach then return {'reach', text(now)} end

local function free(s) return s.kind == 'f' or now >= s.seen + stale end

-- prefer keeps the lowest number, or the lowest fence.
local given, silent, nearest
local function prefer(a, n, by) return (a == nil or by(n) < by(a)) and n or a end
local function number(n) return n end
local function fence(n) return seats[n].fence end

local choice
if only ~= '' then
  choice = tonumber(only)
  local s = seats[choice]
  -- An owner from the pool counts on being left alone: see extend.
  if s and s.kind == 'p' and not free(s) then return {'none', 'pool'} end
else
  for n, s in pairs(seats) do
    if n < numbers and free(s) then
      if s.fence > at then nearest = prefer(nearest, n, fence)
      elseif s.kind == 'f' then given = prefer(given, n, number)
      else silent = prefer(silent, n, number) end
    end
  end
  local unused = 0
  while seats[unused] do unused = unused + 1 end
  choice = given or silent or (unused < numbers and unused) or nearest
  if not choice then return {'none', 'all'} end
end

local from = math.max(at, seats[choice] and seats[choice].fence or 0)
if from + window > now + reach then return {'wait', text(from + window - reach), text(now), 'fence'} end
return write(me, born, text(choice), {kind = kind, token = token, from = from, fence = from + window, holder = holder})
