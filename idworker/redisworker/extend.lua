-- ARGV: reach, skew, token, kind, holder, number, the grant's from and until,
-- the instant to extend it to.
local token, kind, holder, number = ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local from, known, want = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])

local me, born, refusal = record()
if refusal then return refusal end
local s, broken = seat(number)
if broken then return broken end

-- lost keeps what the caller holds from everybody else, which matters only if
-- it ends after the calm.
local function lost()
  if not s and known > calm(born) then
    write(me, born, number, {kind = 'f', token = token, from = from, fence = known, holder = holder})
  end
  return {'lost'}
end

if s then
  local owns = s.token == token and s.kind ~= 'f'
  -- A fence falls only when its owner gives back. The grant of anybody else ends
  -- at or below it, or this record is older than that grant.
  if s.fence < known and s.token .. s.kind ~= token .. 'f' then
    born, s = begin(me, now), nil
  end
  if not owns then return lost() end
end
if not s then
  -- A range that began after the calm was lent by this record, which forgot it.
  if from >= calm(born) then born = begin(me, now) end
  -- Nobody else can have the number if it was chosen from the pool and the grant
  -- had not ended when this record began: see the package comment.
  if kind ~= 'p' or known <= born then return lost() end
  s = {kind = kind, token = token, from = from, fence = known, holder = holder}
end
if want > s.fence then
  if want > now + reach then return {'reach', text(now)} end
  s.fence = want
end
return write(me, born, number, s)
