/**
 * Limits that the processes of many machines share. Buckets that Redis keeps together are taken from in one step. In a
 * Cluster each bucket may live on another server: then they are taken from one after the other, and when one rejects,
 * or its server fails, the earlier ones get their tokens back. Invariant: never more is taken from a bucket than is in
 * it. Between a take and its refund another request may be rejected that would have been allowed a moment later; no
 * request is allowed that would have been rejected.
 */
import {
  type Redis,
  type RedisReply,
  type RedisScript,
  type RedisValue,
  redisScript,
} from '../../engines/redis/redis.ts';
import { aheadMaxMs, type BucketLevel, hashedKey, takeFromAll } from '../bucket.ts';
import type { BucketState, LimitDecision, RateLimiter, Spending } from '../rate-limit.ts';

export interface RedisLimiterOptions {
  readonly secret: Uint8Array;
  /** Two installations may share a Redis under different names. */
  readonly name?: string;
  readonly deadlineMs?: number;
  /**
   * Whose clock counts. The caller's is for tests that make time pass; buckets then expire late, because Redis's own
   * time still passes.
   */
  readonly clock?: 'redis' | 'caller';
}

/** Longer than for a cache: a late decision is exact, while one made by this process alone is not. */
const limitDeadlineMs = 1_000;
const callersKeepLongerMs = 3_600_000;

type PlacedSpending = Spending & { readonly place: string };

/** The state of some buckets as Redis returned it. */
interface Answer {
  readonly spendings: readonly PlacedSpending[];
  readonly kept: readonly (BucketLevel | undefined)[];
  /** By the clock of the option `clock`. */
  readonly at: number;
  readonly decision: LimitDecision;
}

/** Does not close `redis`. */
export function createRedisLimiter(
  redis: Pick<Redis, 'areTogether' | 'run'>,
  options: RedisLimiterOptions,
): RateLimiter {
  const { secret, name = 'terse', deadlineMs = limitDeadlineMs, clock = 'redis' } = options;
  const keepLongerMs = clock === 'caller' ? callersKeepLongerMs : 0;

  const run = (
    script: RedisScript,
    spendings: readonly PlacedSpending[],
    costOf: (spending: Spending) => number,
    now: number,
    ...more: RedisValue[]
  ): Promise<RedisReply> => {
    const keys = spendings.map(({ place }) => place);
    const numbers = spendings.flatMap(spending => [
      spending.rate.count,
      spending.rate.periodMs,
      spending.capacity,
      costOf(spending),
    ]);
    const times = [clock === 'caller' ? now : '', aheadMaxMs, keepLongerMs];
    return redis.run(script, keys, [...times, ...numbers, ...more], deadlineMs);
  };

  /** Takes, or only looks; `decision` says in both cases what taking leads to. */
  const ask = async (
    spendings: readonly PlacedSpending[],
    isTaking: boolean,
    now: number,
  ): Promise<Answer> => {
    const reply = await run(takeScript, spendings, ({ cost }) => (isTaking ? cost : 0), now);
    const [at, ...kept] = reply as readonly RedisReply[];
    const levels = kept.map(levelOf);
    const { decision } = takeFromAll(spendings, levels, Number(at));
    return { spendings, kept: levels, at: Number(at), decision };
  };

  /** Tokens that cannot be given back are refilled with time, as if they had been used. */
  const giveBack = async (answers: readonly Answer[], now: number): Promise<void> => {
    const taken = answers.filter(({ decision }) => decision.allowed);
    await Promise.allSettled(
      taken.map(({ spendings, at }) => run(giveBackScript, spendings, ({ cost }) => cost, now, at)),
    );
  };

  return {
    async take(spendings, now) {
      const placed = spendings.map(spending => ({
        ...spending,
        place: `${name}:limit:${hashedKey(secret, spending.key).toString('base64url')}`,
      }));
      const areTogether = placed.length > 1 && redis.areTogether(placed.map(({ place }) => place));
      const groups = areTogether ? [placed] : placed.map(spending => [spending]);

      const taken: Answer[] = [];
      const looked: Answer[] = [];
      try {
        for (const group of groups) {
          const isTaking = looked.length === 0;
          const answer = await ask(group, isTaking, now);
          (isTaking && answer.decision.allowed ? taken : looked).push(answer);
        }
      } catch (error) {
        await giveBack(taken, now);
        throw error;
      }
      if (looked.length === 0) return allowed(taken);
      await giveBack(taken, now);
      return refused([...taken, ...looked]);
    },
    async close() {},
  };
}

/** An unreadable value counts as nothing spent, here as in the scripts. */
function levelOf(kept: RedisReply): BucketLevel | undefined {
  const match = /^(\d+) (\d+)$/.exec(String(kept));
  return match === null ? undefined : { spentGrains: Number(match[1]), at: Number(match[2]) };
}

function allowed(answers: readonly Answer[]): LimitDecision {
  return { allowed: true, retryAfterMs: 0, buckets: answers.flatMap(({ decision }) => decision.buckets) };
}

/** Each bucket is reported with nothing taken, and with how long it alone would make the request wait. */
function refused(answers: readonly Answer[]): LimitDecision {
  const buckets = answers.flatMap(({ spendings, kept, at, decision }): BucketState[] => {
    const free = spendings.map(spending => ({ ...spending, cost: 0 }));
    const untouched = takeFromAll(free, kept, at).decision.buckets;
    return untouched.map((bucket, n) => ({ ...bucket, waitMs: decision.buckets[n]!.waitMs }));
  });
  return { allowed: false, retryAfterMs: Math.max(...buckets.map(({ waitMs }) => waitMs)), buckets };
}

/**
 * What Redis does with buckets in one atomic step. The arithmetic is that of `bucket.ts`, in whole numbers, and a test
 * keeps the two in step; the answer to a request is computed there, from the returned values.
 * A bucket is kept as `SPENT_GRAINS AT` until it is full again.
 *
 * Both scripts take `NOW AHEAD_MAX_MS KEEP_LONGER_MS`, and then for every key `COUNT PERIOD_MS CAPACITY COST`. Without
 * NOW Redis's own clock counts: a bucket has one such clock, while the clocks of our machines differ, and taking by one
 * clock after another would refill tokens that no time has earned.
 */
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

/** Takes from all buckets or from none. Returns the time of that, and the previous value of each bucket. */
const takeScript = redisScript(`${common}
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
 * Gives back what was taken at the time in the last argument. Tokens that time may have refilled since are not given
 * again, so that a bucket never gets more than was taken from it.
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
