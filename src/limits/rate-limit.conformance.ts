/** The contract of a rate limiter, as tests; every driver runs them. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { createAttempts } from '../accounts/attempts.ts';
import { ManualClock } from '../base/clock.ts';
import type { Problem } from '../base/errors.ts';
import { defaultRates, type Rate } from './plans.ts';
import type { RateLimiter, Spending } from './rate-limit.ts';

export interface RateLimiterHarness {
  readonly limiter: RateLimiter;
  readonly dispose: () => Promise<void>;
}

const startMs = Date.UTC(2026, 0, 1);
const hourMs = 3_600_000;

/** One of `count` an hour, unless said otherwise. */
const spending = (key: string, count: number, overrides: Partial<Spending> = {}): Spending => ({
  key,
  rate: { count, periodMs: hourMs },
  capacity: count,
  cost: 1,
  ...overrides,
});

const rates = fc.record<Rate>({
  count: fc.integer({ min: 1, max: 10_000 }),
  periodMs: fc.constantFrom(1_000, 60_000, hourMs, 24 * hourMs),
});

export function rateLimiterConformance(name: string, open: () => Promise<RateLimiterHarness>): void {
  describe(`rate limiter: ${name}`, () => {
    let harness: RateLimiterHarness;
    let limiter: RateLimiter;
    beforeEach(async () => {
      harness = await open();
      limiter = harness.limiter;
    });
    afterEach(() => harness.dispose());

    let keys = 0;
    /** An unused bucket. */
    const freshKey = (): string => {
      keys += 1;
      return `bucket ${keys}`;
    };
    const isAllowed = async (now: number, ...spendings: Spending[]): Promise<boolean> =>
      (await limiter.take(spendings, now)).allowed;

    test('a bucket is full at first, gives what it holds, and then one more as each comes back', async () => {
      const one = spending('a', 100);
      for (let taken = 1; taken <= 100; taken += 1) {
        const { allowed, buckets } = await limiter.take([one], startMs);
        expect([allowed, buckets[0]?.remaining]).toEqual([true, 100 - taken]);
      }
      const refused = await limiter.take([one], startMs);
      expect(refused).toEqual({
        allowed: false,
        retryAfterMs: 36_000,
        buckets: [{ limit: 100, remaining: 0, waitMs: 36_000, fullAfterMs: hourMs }],
      });
      expect(await isAllowed(startMs + 35_999, one)).toBe(false);
      expect(await isAllowed(startMs + 36_000, one)).toBe(true);
      expect(await isAllowed(startMs + 36_000, one)).toBe(false);
    });

    test('of many concurrent requests exactly as many are allowed as the bucket holds', async () => {
      const decisions = await Promise.all(
        Array.from({ length: 300 }, () => limiter.take([spending('a', 100)], startMs)),
      );
      expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(100);
    });

    test('a request takes from all of its buckets or from none', async () => {
      const [large, small] = [spending('large', 10), spending('small', 2)];
      expect(await isAllowed(startMs, large, small)).toBe(true);
      expect(await isAllowed(startMs, large, small)).toBe(true);
      for (let attempt = 0; attempt < 20; attempt += 1) {
        const { allowed, buckets } = await limiter.take([large, small], startMs);
        expect([allowed, ...buckets.map(({ remaining }) => remaining)]).toEqual([false, 8, 0]);
      }
      const { buckets } = await limiter.take([{ ...large, cost: 8 }], startMs);
      expect(buckets[0]?.remaining).toBe(0);
    });

    test('of many concurrent requests for two buckets as many pass as the smaller holds, and pay both', async () => {
      const [large, small] = [spending('large', 1_000), spending('small', 50)];
      const decisions = await Promise.all(
        Array.from({ length: 200 }, () => limiter.take([large, small], startMs)),
      );
      expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(50);
      const { buckets } = await limiter.take([{ ...large, cost: 0 }], startMs);
      expect(buckets[0]?.remaining).toBe(950);
    });

    test('a request for nothing is allowed', async () => {
      expect(await limiter.take([], startMs)).toEqual({ allowed: true, retryAfterMs: 0, buckets: [] });
    });

    test('the bucket with the longest wait says how long, and each bucket says its own', async () => {
      const spendings = [spending('slow', 1), spending('fast', 60)];
      await limiter.take(spendings, startMs);
      await limiter.take([spending('fast', 60, { cost: 59 })], startMs);
      const { retryAfterMs, buckets } = await limiter.take(spendings, startMs);
      expect(retryAfterMs).toBe(hourMs);
      expect(buckets.map(({ waitMs }) => waitMs)).toEqual([hourMs, 60_000]);
    });

    test('the reported wait is exact: it is enough, and a millisecond less is not', async () => {
      const step = fc.record({
        pauseMs: fc.integer({ min: 0, max: 5_000 }),
        cost: fc.integer({ min: 1, max: 40 }),
      });
      await fc.assert(
        fc.asyncProperty(rates, fc.array(step, { minLength: 1, maxLength: 8 }), async (rate, steps) => {
          const capacity = Math.max(40, rate.count);
          const bucket = { key: freshKey(), rate, capacity };
          let now = startMs;
          for (const { pauseMs, cost } of steps) {
            now += pauseMs;
            const { allowed, retryAfterMs, buckets } = await limiter.take([{ ...bucket, cost }], now);
            expect(allowed).toBe(retryAfterMs === 0);
            expect(buckets[0]!.remaining).toBeGreaterThanOrEqual(0);
            if (allowed) continue;
            now += retryAfterMs;
            expect(await isAllowed(now - 1, { ...bucket, cost })).toBe(false);
            expect(await isAllowed(now, { ...bucket, cost })).toBe(true);
          }
        }),
        { numRuns: 50 },
      );
    });

    test('nothing drifts: a client at exactly the rate is always allowed, and never gets ahead', async () => {
      const bucket = spending('a', 7);
      await limiter.take([{ ...bucket, cost: 7 }], startMs);
      for (let turn = 1; turn <= 500; turn += 1) {
        const dueMs = startMs + Math.ceil((turn * hourMs) / 7);
        expect(await isAllowed(dueMs - 1, bucket)).toBe(false);
        expect(await isAllowed(dueMs, bucket)).toBe(true);
      }
    });

    test('a request beyond the capacity is always rejected and takes nothing', async () => {
      const tooMuch = spending('a', 100, { cost: 101 });
      const { allowed, retryAfterMs } = await limiter.take([tooMuch], startMs);
      expect([allowed, retryAfterMs]).toEqual([false, Number.POSITIVE_INFINITY]);
      expect(await isAllowed(startMs + 1_000 * hourMs, tooMuch)).toBe(false);
      expect(await isAllowed(startMs, spending('a', 100, { cost: 100 }))).toBe(true);
    });

    test('looking costs nothing and is always allowed', async () => {
      const look = spending('a', 2, { cost: 0 });
      expect(await limiter.take([look], startMs)).toMatchObject({
        allowed: true,
        buckets: [{ remaining: 2 }],
      });
      await limiter.take([{ ...look, cost: 2 }], startMs);
      expect(await limiter.take([look], startMs)).toMatchObject({
        allowed: true,
        buckets: [{ remaining: 0, fullAfterMs: hourMs }],
      });
    });

    test('a bucket never holds more than its capacity, however long it is left alone', async () => {
      const bucket = spending('a', 5);
      await limiter.take([bucket], startMs);
      expect(await isAllowed(startMs + 50 * hourMs, { ...bucket, cost: 5 })).toBe(true);
      expect(await isAllowed(startMs + 50 * hourMs, bucket)).toBe(false);
    });

    test('a bucket can hold more than a period brings back', async () => {
      const bucket = spending('a', 10, { capacity: 50 });
      expect(await isAllowed(startMs, { ...bucket, cost: 50 })).toBe(true);
      const { retryAfterMs } = await limiter.take([{ ...bucket, cost: 10 }], startMs);
      expect(retryAfterMs).toBe(hourMs);
    });

    test('a limit that is lowered leaves a bucket empty, not in debt', async () => {
      await limiter.take([spending('a', 1_000, { cost: 1_000 })], startMs);
      const { retryAfterMs } = await limiter.take([spending('a', 10)], startMs);
      expect(retryAfterMs).toBe(hourMs / 10);
      expect(await isAllowed(startMs + hourMs / 10, spending('a', 10))).toBe(true);
      expect(await isAllowed(startMs + hourMs / 10, spending('a', 10))).toBe(false);
    });

    test('timestamps out of order refill nothing twice', async () => {
      const bucket = spending('a', 3_600);
      await limiter.take([{ ...bucket, cost: 3_590 }], startMs + 5_000);
      let served = 0;
      for (let turn = 0; turn < 20; turn += 1) {
        if (await isAllowed(startMs + 4_000, bucket)) served += 1;
        if (await isAllowed(startMs + 5_000, bucket)) served += 1;
      }
      expect(served).toBe(10);
      const { retryAfterMs } = await limiter.take([bucket], startMs + 4_000);
      expect(retryAfterMs).toBe(2_000);
    });

    test('a clock that is set back by a day makes no client wait for a day', async () => {
      const bucket = spending('a', 60);
      await limiter.take([{ ...bucket, cost: 60 }], startMs);
      const dayBefore = startMs - 24 * hourMs;
      const { retryAfterMs } = await limiter.take([bucket], dayBefore);
      expect(retryAfterMs).toBe(60_000);
    });

    test('guesses at a password are limited by network and account, and a known device separately', async () => {
      const clock = new ManualClock(startMs);
      const attempts = createAttempts({ limiter, rates: defaultRates, clock, onLimited: () => {} });
      const tryFrom = async (network: string, deviceId?: string): Promise<number> => {
        try {
          const count = await attempts.signIn('ada@example.com', { network, deviceId });
          await count();
          return 0;
        } catch (error) {
          return Number((error as Problem).headers['Retry-After']);
        }
      };
      const untilRefused = async (network: string, deviceId?: string): Promise<[number, number]> => {
        for (let made = 0; ; made += 1) {
          const retryAfterS = await tryFrom(network, deviceId);
          if (retryAfterS > 0) return [made, retryAfterS];
        }
      };
      // A share of two and half of the thirty; the next comes back after a fifteenth of an hour.
      expect(await untilRefused('a')).toEqual([17, 240]);
      expect(await untilRefused('b')).toEqual([17, 240]);
      // Now the thirty are used up, and only the shares are left.
      expect(await untilRefused('c')).toEqual([2, 120]);
      expect(await untilRefused('d', 'device')).toEqual([30, 120]);
      clock.advance(120_000);
      expect(await untilRefused('d', 'device')).toEqual([1, 120]);
      expect(await untilRefused('c')).toEqual([1, 120]);
    });

    test('buckets with different keys are independent', async () => {
      const names = ['a', 'b', 'a ', 'A', '', 'x'.repeat(10_000)];
      for (const key of names) expect(await isAllowed(startMs, spending(key, 1))).toBe(true);
      for (const key of names) expect(await isAllowed(startMs, spending(key, 1))).toBe(false);
    });
  });
}
