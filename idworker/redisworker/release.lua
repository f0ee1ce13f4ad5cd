-- ARGV: reach, skew, token, number, the grant's from and until, what was used.
local token, number = ARGV[3], ARGV[4]
local from, known, used = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])

local me, born, refusal = record()
if refusal then return refusal end
local s, broken = seat(number)
if broken then return broken end
if not s or s.token ~= token or s.kind == 'f' then return {'lost'} end
if s.fence < known then
  -- This record is older than the grant.
  s, born = {token = token, from = from, fence = known, holder = s.holder}, begin(me, now)
end
s.kind, s.fence = 'f', math.min(s.fence, math.max(used, s.from))
return write(me, born, number, s)
