import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test';
import fc from 'fast-check';
import { describeWithEngine } from '../../../test/kit/engines/describe-with-engine.ts';
import { sharedRedis } from '../../../test/kit/engines/redis.ts';
import { sharedRedisCluster } from '../../../test/kit/engines/redis-cluster.ts';
import { until } from '../../../test/kit/until.ts';
import { systemClock } from '../../base/clock.ts';
import { systemRandom } from '../../base/random.ts';
import { openRedis } from '../../engines/redis/open.ts';
import { type Redis, RedisUnavailable } from '../../engines/redis/redis.ts';
import { aheadMaxMs, type BucketLevel, hashedKey, takeFromAll } from '../bucket.ts';
import { rateLimiterConformance } from '../rate-limit.conformance.ts';
import type { LimitDecision, RateLimiter, Spending } from '../rate-limit.ts';
import { createRedisLimiter, giveBackScript, type RedisLimiterOptions } from './redis.ts';

const startMs = Date.UTC(2026, 0, 1);
const dayMs = 86_400_000;
const secret = new Uint8Array(32);
/** Generous, because a busy machine is not the server's fault. */
const deadlineMs = 10_000;

const ofADay = (count: number, key: string, cost = 1): Spending => ({
  key,
  rate: { count, periodMs: dayMs },
  capacity: count,
  cost,
});

/** Where a limiter keeps a bucket. */
const placeOf = (name: string, key: string): string =>
  `${name}:limit:${hashedKey(secret, key).toString('base64url')}`;

/** The same arithmetic where nothing is evicted and no other process interferes. */
function createModel() {
  const kept = new Map<string, BucketLevel>();
  return (spendings: readonly Spending[], now: number): LimitDecision => {
    const { decision, after } = takeFromAll(
      spendings,
      spendings.map(({ key }) => kept.get(key)),
      now,
    );
    for (const [n, level] of after?.entries() ?? []) kept.set(spendings[n]!.key, level);
    return decision;
  };
}

const engines = [
  ['redis', 'Redis', sharedRedis],
  ['redis-cluster', 'Redis Cluster', sharedRedisCluster],
] as const;

for (const [engine, title, shared] of engines) {
  describeWithEngine(engine, `limits in ${title}`, () => {
    let redis: Redis;
    let name: string;
    beforeAll(async () => {
      redis = openRedis((await shared()).url, { clock: systemClock, timeoutMs: deadlineMs });
      await until('Redis', () => redis.isAvailable);
    });
    afterAll(() => redis.close());
    beforeEach(() => {
      name = Buffer.from(systemRandom.bytes(8)).toString('hex');
    });

    const open = (options: Partial<RedisLimiterOptions> = {}): RateLimiter =>
      createRedisLimiter(redis, { secret, name, deadlineMs, ...options });
    const serves = async (limiter: RateLimiter, now: number, ...spendings: Spending[]): Promise<boolean> =>
      (await limiter.take(spendings, now)).allowed;

    rateLimiterConformance(title, async () => ({
      limiter: open({ clock: 'caller' }),
      dispose: async () => {},
    }));

    test('of one bucket every decision matches exact integer arithmetic', async () => {
      const step = fc.record({
        key: fc.constantFrom('1', '60', '1000'),
        cost: fc.integer({ min: 0, max: 12 }),
        capacity: fc.constantFrom(10, 4),
        laterMs: fc.integer({ min: -20_000, max: 40_000 }),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 30 }), async steps => {
          const fresh = `${name}-${systemRandom.float()}`;
          const [limiter, model] = [open({ clock: 'caller', name: fresh }), createModel()];
          let now = startMs;
          for (const { laterMs, ...given } of steps) {
            now += laterMs;
            const spending = { ...given, rate: { count: Number(given.key), periodMs: 60_000 } };
            expect(await limiter.take([spending], now)).toEqual(model([spending], now));
          }
        }),
        { numRuns: 100 },
      );
    });

    test('of several buckets every decision matches exact integer arithmetic', async () => {
      const bucket = fc.record({
        key: fc.constantFrom('1', '7', '60', '1000'),
        cost: fc.integer({ min: 0, max: 12 }),
      });
      const step = fc.record({
        laterMs: fc.integer({ min: 0, max: 40_000 }),
        buckets: fc.uniqueArray(bucket, { selector: ({ key }) => key, minLength: 1, maxLength: 3 }),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 30 }), async steps => {
          const fresh = `${name}-${systemRandom.float()}`;
          const [limiter, model] = [open({ clock: 'caller', name: fresh }), createModel()];
          let now = startMs;
          for (const { laterMs, buckets } of steps) {
            now += laterMs;
            const spendings = buckets.map(({ key, cost }) => ({
              key,
              cost,
              rate: { count: Number(key), periodMs: 60_000 },
              capacity: 10,
            }));
            expect(await limiter.take(spendings, now)).toEqual(model(spendings, now));
          }
        }),
        { numRuns: 60 },
      );
    });

    test('of many concurrent requests through several limiters as many are allowed as the bucket holds', async () => {
      const limiters = [open(), open(), open()];
      const asked = limiters.flatMap(limiter =>
        Array.from({ length: 100 }, () => serves(limiter, 0, ofADay(200, 'a'), ofADay(1_000, 'b'))),
      );
      expect((await Promise.all(asked)).filter(Boolean)).toHaveLength(200);
    });

    test('machines whose clocks disagree get no more between them than the bucket holds', async () => {
      const [early, late] = [open(), open()];
      let served = 0;
      for (let turn = 0; turn < 30; turn += 1) {
        if (await serves(early, startMs - dayMs, ofADay(10, 'a'))) served += 1;
        if (await serves(late, startMs + dayMs, ofADay(10, 'a'))) served += 1;
      }
      expect(served).toBe(10);
    });

    test('rejected requests leave the buckets that would have allowed them unchanged', async () => {
      const limiter = open();
      await limiter.take([ofADay(5, 'small', 5)], 0);
      for (let turn = 0; turn < 50; turn += 1) {
        expect(await serves(limiter, 0, ofADay(10, 'large'), ofADay(5, 'small'))).toBe(false);
      }
      expect(await serves(limiter, 0, ofADay(10, 'large', 10))).toBe(true);
      expect(await serves(limiter, 0, ofADay(10, 'large'))).toBe(false);
    });

    test('large limits are counted to the last one', async () => {
      const limiter = open({ clock: 'caller' });
      await limiter.take([ofADay(100_000_000, 'a', 50_000_001)], startMs);
      const { buckets } = await limiter.take([ofADay(100_000_000, 'a', 0)], startMs);
      expect(buckets[0]?.remaining).toBe(49_999_999);
    });

    test('tokens that were refilled by time are not given back again', async () => {
      const limiter = open({ clock: 'caller' });
      const bucket = { key: 'a', rate: { count: 60, periodMs: 60_000 }, capacity: 10, cost: 3 };
      await limiter.take([bucket], startMs);
      const later = startMs + 3_000;
      await limiter.take([{ ...bucket, cost: 10 }], later);
      const values = [later, aheadMaxMs, dayMs, 60, 60_000, 10, 3, startMs];
      await redis.run(giveBackScript, [placeOf(name, 'a')], values, deadlineMs);
      expect(await serves(limiter, later, { ...bucket, cost: 1 })).toBe(false);
    });

    test('a bucket that is full again is no longer stored', async () => {
      const limiter = open();
      const quick = { key: 'a', rate: { count: 1_000, periodMs: 1_000 }, capacity: 1_000, cost: 50 };
      expect(await serves(limiter, 0, quick)).toBe(true);
      await until('the bucket is forgotten', async () => (await redis.get(placeOf(name, 'a'))) === undefined);
    });

    test('stored keys identify no person, and cannot be computed without the secret', async () => {
      await open().take([ofADay(1, 'address 203.0.113.7')], 0);
      const place = placeOf(name, 'address 203.0.113.7');
      expect(place).toMatch(/^[0-9a-f]{16}:limit:[\w-]{22}$/);
      expect(await redis.get(place, deadlineMs)).toMatch(/^\d+ \d+$/);
      const elsewhere = open({ secret: new Uint8Array(32).fill(1) });
      expect(await serves(elsewhere, 0, ofADay(1, 'address 203.0.113.7'))).toBe(true);
    });

    test('installations with different names do not share their limits', async () => {
      expect(await serves(open(), 0, ofADay(1, 'a'))).toBe(true);
      expect(await serves(open({ name: `${name}-other` }), 0, ofADay(1, 'a'))).toBe(true);
      expect(await serves(open(), 0, ofADay(1, 'a'))).toBe(false);
    });

    test('an unreadable value counts as a full bucket, and is replaced', async () => {
      const limiter = open();
      await limiter.take([ofADay(1, 'a')], 0);
      await redis.set(placeOf(name, 'a'), 'what is this', dayMs, deadlineMs);
      expect(await serves(limiter, 0, ofADay(1, 'a'))).toBe(true);
      expect(await serves(limiter, 0, ofADay(1, 'a'))).toBe(false);
    });
  });
}

describeWithEngine('redis', 'limits in one Redis', () => {
  test('are taken from all buckets of a request in one step', async () => {
    const redis = openRedis((await sharedRedis()).url, { clock: systemClock, timeoutMs: deadlineMs });
    await until('Redis', () => redis.isAvailable);
    let steps = 0;
    const counting: Pick<Redis, 'areTogether' | 'run'> = {
      areTogether: keys => redis.areTogether(keys),
      run: (...call) => {
        steps += 1;
        return redis.run(...call);
      },
    };
    const name = Buffer.from(systemRandom.bytes(8)).toString('hex');
    const limiter = createRedisLimiter(counting, { secret, name, deadlineMs });
    await limiter.take([ofADay(1, 'a'), ofADay(1, 'b'), ofADay(1, 'c')], 0);
    expect(steps).toBe(1);
    await redis.close();
  });
});

describeWithEngine('redis-cluster', 'limits in a Redis Cluster that is partly down', () => {
  let redis: Redis;
  beforeAll(async () => {
    redis = openRedis((await sharedRedisCluster()).url, { clock: systemClock, timeoutMs: deadlineMs });
    await until('Redis', () => redis.isAvailable);
  });
  afterAll(() => redis.close());

  test('say so, and take nothing', async () => {
    const name = Buffer.from(systemRandom.bytes(8)).toString('hex');
    const options = { secret, name, deadlineMs };
    const spendings = Array.from({ length: 5 }, (_, n) => ofADay(1, `bucket ${n}`));
    const unreachable = placeOf(name, 'bucket 3');
    const partlyDown: Pick<Redis, 'areTogether' | 'run'> = {
      areTogether: keys => redis.areTogether(keys),
      run: async (script, keys, ...rest) => {
        if (keys.includes(unreachable)) throw new RedisUnavailable('down');
        return redis.run(script, keys, ...rest);
      },
    };
    await expect(createRedisLimiter(partlyDown, options).take(spendings, 0)).rejects.toThrow('down');
    const { allowed } = await createRedisLimiter(redis, options).take(spendings, 0);
    expect(allowed).toBe(true);
  });
});
