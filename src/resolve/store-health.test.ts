import { beforeEach, describe, expect, test } from 'bun:test';
import { ManualClock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import { StoreHealth } from './store-health.ts';

describe('a store', () => {
  let clock: ManualClock;
  let health: StoreHealth;
  beforeEach(() => {
    clock = new ManualClock();
    health = new StoreHealth(clock);
    health.start();
  });
  const fail = async (): Promise<void> => {
    await expect(health.watch(() => Promise.reject(new Error('down')))).rejects.toThrow('down');
  };

  test('is failing after two consecutive failures, until it answers', async () => {
    await fail();
    expect(health.isFailing).toBe(false);
    clock.advance(1);
    await fail();
    expect(health.isFailing).toBe(true);
    await health.watch(async () => 'an answer');
    expect(health.isFailing).toBe(false);
  });

  test('has not failed when reads are rejected because too many wait', async () => {
    for (let turn = 0; turn < 5; turn += 1) {
      const rejected = health.watch(() => Promise.reject(new Problem('overloaded', { detail: 'full' })));
      await expect(rejected).rejects.toThrow();
      clock.advance(1);
    }
    expect(health.isFailing).toBe(false);
  });

  test('has failed once when many reads fail together', async () => {
    const broken = Promise.withResolvers<never>();
    const crowd = Array.from({ length: 64 }, () => health.watch(() => broken.promise).catch(() => undefined));
    clock.advance(50);
    broken.reject(new Error('down'));
    await Promise.all(crowd);
    expect(health.isFailing).toBe(false);
  });

  test('is failing while a read waits and nothing is answered, and not when only one of many hangs', async () => {
    void health.watch(() => new Promise(() => {}));
    clock.advance(399);
    expect(health.isFailing).toBe(false);
    clock.advance(1);
    expect(health.isFailing).toBe(true);
    await health.watch(async () => 'an answer');
    expect(health.isFailing).toBe(false);
    clock.advance(300);
    expect(health.isFailing).toBe(false);
  });

  test('is not blamed for the time in which this process was stopped', async () => {
    // A stopped process misses the turns of its timers, and runs them one at a time when it resumes.
    let monotonicMs = 0;
    let turn = (): void => {};
    const stopped = new StoreHealth({
      ...clock,
      now: () => monotonicMs,
      monotonicMs: () => monotonicMs,
      after: () => () => {},
      every: (_periodMs, task) => {
        turn = task;
        return () => {};
      },
    });
    stopped.start();
    void stopped.watch(() => new Promise(() => {}));
    monotonicMs += 60_000;
    turn();
    expect(stopped.isFailing).toBe(false);
  });
});
