/**
 * What Redis does with buckets in one step, while nobody else touches them. The arithmetic is that of `bucket.ts`, in
 * whole numbers, and a test holds the two together; what a request is told is worked out there, from what is returned.
 * A bucket is kept as `SPENT_GRAINS AT` until it is full again.
 *
 * Both scripts take `NOW AHEAD_MAX_MS KEEP_LONGER_MS`, and then for every key `COUNT PERIOD_MS CAPACITY COST`. Without
 * NOW it is Redis's own clock that counts: there is one for a bucket, while the clocks of our machines differ, and
 * taking by one clock after another would bring tokens back that no time has earned.
 */
import { redisScript } from '../../../engines/redis/redis.ts';

const common = `
local now, ahead_max, keep_longer = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end

local function bucket(n)
  local given = {}
  for field, name in ipairs({'count', 'period', 'capacity', 'cost'}) do
    given[name] = tonumber(ARGV[3 + (n - 1) * 4 + field])
  end
  given.key = KEYS[n]
  given.kept = redis.call('GET', given.key) or ''
  given.spent, given.at = 0, now
  local spent, at = string.match(given.kept, '^(%d+) (%d+)$')
  if spent then
    local elapsed = now - at
    given.spent = math.min(tonumber(spent), given.capacity * given.period)
    if elapsed > 0 then
      given.spent = math.max(0, given.spent - elapsed * given.count)
    elseif elapsed >= -ahead_max then
      given.at = tonumber(at)
    end
  end
  return given
end

local function keep(given)
  local full_after = given.at + math.ceil(given.spent / given.count) - now
  if given.spent == 0 or full_after <= 0 then
    redis.call('DEL', given.key)
  else
    local level = string.format('%.0f %.0f', given.spent, given.at)
    redis.call('SET', given.key, level, 'PX', string.format('%.0f', full_after + keep_longer))
  end
end
`;

/** Takes from all buckets or from none. Returns when that was, and what was kept of each bucket before. */
export const takeScript = redisScript(`${common}
local buckets, reply, allowed = {}, {now}, true
for n = 1, #KEYS do
  local given = bucket(n)
  buckets[n], reply[n + 1] = given, given.kept
  if given.spent + (given.cost - given.capacity) * given.period > 0 then allowed = false end
end
if allowed then
  for _, given in ipairs(buckets) do
    if given.cost > 0 then
      given.spent = given.spent + given.cost * given.period
      keep(given)
    end
  end
end
return reply
`);

/**
 * Gives back what was taken at the moment in the last argument. What time may have brought back of it since is not
 * given again, so that a bucket never gets more than was taken from it.
 */
export const giveBackScript = redisScript(`${common}
local taken_at = tonumber(ARGV[#ARGV])
for n = 1, #KEYS do
  local given = bucket(n)
  local earned = math.max(0, now - taken_at) * given.count
  given.spent = math.max(0, given.spent - math.max(0, given.cost * given.period - earned))
  keep(given)
end
return 0
`);
