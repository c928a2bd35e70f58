import { beforeEach, describe, expect, test } from 'bun:test';
import { ManualClock, yieldToEventLoop } from '../base/clock.ts';
import { createMemoryLimiter } from './bucket.ts';
import type { RateLimiter, Spending } from './rate-limit.ts';
import { createFallbackLimiter, type FallbackLimiter, pauseMs, waitMaxMs } from './start.ts';

const spending: Spending = { key: 'a', rate: { count: 2, periodMs: 3_600_000 }, capacity: 2, cost: 1 };

describe('shared limits during an outage', () => {
  let clock: ManualClock;
  let ask: RateLimiter['take'];
  let asked: number;
  let failures: unknown[];
  let limiter: FallbackLimiter;
  beforeEach(() => {
    clock = new ManualClock();
    asked = 0;
    failures = [];
    limiter = createFallbackLimiter({
      shared: {
        take(spendings, now) {
          asked += 1;
          return ask(spendings, now);
        },
        close: async () => {},
      },
      own: createMemoryLimiter(),
      clock,
      onFailure: error => failures.push(error),
    });
  });
  const allowed = async (): Promise<boolean> => (await limiter.take([spending], clock.now())).allowed;
  const broken = async (): Promise<never> => {
    throw new Error('the file is locked');
  };

  test('are asked as long as they answer, and their answer counts', async () => {
    const shared = createMemoryLimiter();
    ask = (spendings, now) => shared.take(spendings, now);
    expect([await allowed(), await allowed(), await allowed()]).toEqual([true, true, false]);
    expect([limiter.alone, failures]).toEqual([0, []]);
  });

  test('are replaced by limits of this process, which still limit', async () => {
    ask = broken;
    expect([await allowed(), await allowed(), await allowed()]).toEqual([true, true, false]);
    expect([limiter.alone, failures.length]).toEqual([3, 1]);
  });

  test('are not asked for a while after a failure, and then retried', async () => {
    ask = broken;
    for (let n = 0; n < 10; n += 1) await allowed();
    expect(asked).toBe(1);
    clock.advance(pauseMs);
    ask = createMemoryLimiter().take;
    expect(await allowed()).toBe(true);
    expect([asked, limiter.alone]).toEqual([2, 10]);
  });

  test('are waited for no longer than the limit', async () => {
    ask = () => new Promise(() => {});
    const decision = allowed();
    clock.advance(waitMaxMs);
    expect(await decision).toBe(true);
    expect(limiter.alone).toBe(1);
    expect(String(failures[0])).toContain('did not answer in time');
  });

  test('are reported once, however many callers were waiting', async () => {
    ask = broken;
    await Promise.all(Array.from({ length: 50 }, () => allowed()));
    expect([limiter.alone, failures.length]).toEqual([50, 1]);
  });

  test('that fail after all callers timed out do no harm', async () => {
    const answer = Promise.withResolvers<never>();
    ask = () => answer.promise;
    const decision = allowed();
    clock.advance(waitMaxMs);
    await decision;
    answer.reject(new Error('late'));
    await yieldToEventLoop();
    expect(failures).toHaveLength(1);
  });
});
