import { describe, expect, test } from 'bun:test';
import { ManualClock, systemClock, yieldToEventLoop } from '../base/clock.ts';
import { seededRandom } from '../base/random.ts';
import { createCodeSpace } from './code-space.ts';
import { FakeRangeSource } from './fake-range-source.ts';
import { KeyPool, KeyPoolError, type KeyPoolFailure, type KeyPoolOptions } from './key-pool.ts';

const space = createCodeSpace(new Uint8Array(32).fill(5), 7);

function start(options: Partial<KeyPoolOptions> = {}) {
  const source = new FakeRangeSource();
  const clock = new ManualClock();
  const random = seededRandom(1);
  const pool = new KeyPool({ source, space, clock, random, rangeSize: 100, poolMax: 100, ...options });
  return { source, clock, pool };
}

/** Lets work that only waits for promises finish. */
function settle(): Promise<void> {
  return yieldToEventLoop();
}

/** Lets timers that are due run, again and again, each time followed by the promises they settle. */
async function turns(clock: ManualClock, count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) {
    clock.advance(1);
    await settle();
  }
}

async function closeAll(pool: KeyPool, count: number): Promise<string[]> {
  const codes: string[] = [];
  for (let index = 0; index < count; index += 1) codes.push(await pool.take());
  return codes;
}

async function reasonOf(taking: Promise<string>): Promise<KeyPoolFailure | undefined> {
  const error = await taking.then(
    () => undefined,
    (error: unknown) => error,
  );
  return error instanceof KeyPoolError ? error.reason : undefined;
}

describe('a key pool', () => {
  test('leases at start, before the first take', async () => {
    const { source, pool } = start();
    await settle();
    expect(source.asked).toBe(1);
    expect(pool.available()).toBe(100);
  });

  test('gives each id once, over many leases', async () => {
    const { pool } = start({ rangeSize: 7 });
    const codes = await closeAll(pool, 1_000);
    expect(new Set(codes).size).toBe(1_000);
    expect(Math.max(...codes.map(code => space.decode(code)!))).toBeLessThan(1_000 + 100 + 7);
  });

  test('keeps the promised reserve whenever the store answers', async () => {
    const { clock, pool } = start();
    await settle();
    for (let index = 0; index < 1_000; index += 1) {
      await pool.take();
      clock.advance(1);
      await settle();
      expect(pool.available()).toBeGreaterThanOrEqual(100);
    }
  });

  test('with the store down lasts for ten seconds of creates at 1,000 a second', async () => {
    const { source, pool } = start({ rangeSize: 10_000, poolMax: 10_000 });
    // The worst moment: the reserve is about to be refilled.
    await closeAll(pool, 10_000);
    await settle();
    source.down = true;
    const codes = await closeAll(pool, 10_000);
    expect(new Set(codes).size).toBe(10_000);
  });

  test('refills in the background: a take from a non-empty pool does not wait for the lease', async () => {
    const { source, pool } = start();
    await settle();
    source.hold();
    const codes = await closeAll(pool, 100);
    expect(codes).toHaveLength(100);
    expect(source.pending).toBe(1);
    source.release();
    await settle();
    expect(pool.available()).toBe(100);
  });

  test('has one lease in flight, however many takes wait', async () => {
    const { source, pool } = start();
    source.hold();
    const taking = Promise.all(Array.from({ length: 250 }, () => pool.take()));
    await settle();
    expect(source.pending).toBe(1);
    source.release();
    expect(new Set(await taking).size).toBe(250);
    expect(source.pendingMost).toBe(1);
  });

  test('mints ahead in slices and only up to its limit, keeping the rest of a lease as numbers', async () => {
    let minted = 0;
    const isAllowed = () => {
      minted += 1;
      return true;
    };
    const { clock, pool } = start({ rangeSize: 1_000_000, poolMax: 1_000, isAllowed });
    await settle();
    expect(pool.available()).toBe(1_000_000);
    expect(minted).toBe(0);
    await turns(clock, 1);
    expect(minted).toBe(128);
    await turns(clock, 50);
    expect(minted).toBe(1_000);
    expect(pool.available()).toBe(1_000_000);

    // Nothing more until fewer than half are left.
    await closeAll(pool, 500);
    await turns(clock, 50);
    expect(minted).toBe(1_000);
    await pool.take();
    await turns(clock, 50);
    expect(minted).toBe(1_501);
  });

  test('gives neither claimed ids nor rejected codes', async () => {
    const source = new FakeRangeSource();
    source.claimed = Array.from({ length: 90 }, (_, index) => index);
    const isAllowed = (code: string) => !code.startsWith('a');
    const { pool } = start({ source, isAllowed });
    const codes = await closeAll(pool, 500);
    expect(codes.every(isAllowed)).toBe(true);
    expect(codes.every(code => space.decode(code)! >= 90)).toBe(true);
    expect(new Set(codes).size).toBe(500);
  });

  test('continues with the next lease when aliases have claimed all of one', async () => {
    const source = new FakeRangeSource();
    source.claimed = Array.from({ length: 250 }, (_, index) => index);
    const { pool } = start({ source });
    expect(space.decode(await pool.take())).toBe(250);
  });

  test('does not burn ids in the background while the filter refuses everything', async () => {
    const { source, clock, pool } = start({ isAllowed: () => false });
    await turns(clock, 200);
    expect(source.asked).toBeLessThan(20);
    const taking = reasonOf(pool.take());
    clock.advance(1_000);
    expect(await taking).toBe('allocator-unavailable');
  });

  test('makes a take wait no longer than its limit for a slow store', async () => {
    const source = new FakeRangeSource();
    source.hold();
    const { clock, pool } = start({ source, waitMaxMs: 300 });
    let settled = false;
    const taking = reasonOf(pool.take()).finally(() => {
      settled = true;
    });
    clock.advance(299);
    await settle();
    expect(settled).toBe(false);
    clock.advance(1);
    expect(await taking).toBe('allocator-unavailable');

    // The late lease is not lost.
    source.release();
    expect(space.decode(await pool.take())).toBe(0);
  });

  test('retries a failed lease with growing, capped and jittered pauses, and recovers', async () => {
    const source = new FakeRangeSource();
    source.down = true;
    const { clock, pool } = start({ source });
    const pausesMs: number[] = [];
    let lastAskedMs = clock.now();
    for (let seen = 1; seen < 13; ) {
      await settle();
      clock.advance(1);
      await settle();
      if (source.asked === seen) continue;
      seen = source.asked;
      pausesMs.push(clock.now() - lastAskedMs);
      lastAskedMs = clock.now();
    }
    pausesMs.forEach((pauseMs, index) => {
      const cappedMs = Math.min(50 * 2 ** index, 5_000);
      expect(pauseMs).toBeWithin(cappedMs / 2, cappedMs + 2);
    });
    expect(new Set(pausesMs.slice(-5)).size).toBe(5);

    source.down = false;
    clock.advance(5_000);
    await settle();
    expect(pool.available()).toBe(100);
  });

  test('rejects at once while the allocator is known to be down', async () => {
    const source = new FakeRangeSource();
    source.down = true;
    const { clock, pool } = start({ source });
    const early = reasonOf(pool.take());
    for (let turn = 0; turn < 3; turn += 1) {
      await settle();
      clock.advance(100);
    }
    expect(await early).toBe('allocator-unavailable');
    expect(await reasonOf(pool.take())).toBe('allocator-unavailable');
  });

  test('forgets an outage that is over: in the next one a take waits again', async () => {
    const source = new FakeRangeSource();
    source.down = true;
    const { clock, pool } = start({ source });
    await turns(clock, 300);
    source.down = false;
    await turns(clock, 1_000);
    source.hold();
    await closeAll(pool, 100);
    const taking = pool.take();
    await settle();
    source.release();
    expect(space.decode(await taking)).toBe(100);
  });

  test('names the cause of a failed lease', async () => {
    const source = new FakeRangeSource();
    source.down = true;
    const { clock, pool } = start({ source, waitMaxMs: 10 });
    await settle();
    const taking = pool.take();
    clock.advance(10);
    await expect(taking).rejects.toMatchObject({ cause: { message: 'the allocator is down' } });
  });

  test('gives the last code of the space, then tells exhaustion from an outage and leases no more', async () => {
    const tiny = createCodeSpace(new Uint8Array(32).fill(5), 1);
    const { source, pool } = start({ space: tiny, rangeSize: 50, poolMax: 10 });
    expect(new Set(await closeAll(pool, 62)).size).toBe(62);
    expect(await reasonOf(pool.take())).toBe('space-exhausted');
    const { asked } = source;
    expect(await reasonOf(pool.take())).toBe('space-exhausted');
    expect(source.asked).toBe(asked);
  });

  test('rejects waiting takes when the space is exhausted', async () => {
    const tiny = createCodeSpace(new Uint8Array(32).fill(5), 1);
    const { pool } = start({ space: tiny });
    const outcomes = await Promise.all(Array.from({ length: 70 }, () => reasonOf(pool.take())));
    expect(outcomes.filter(reason => reason === undefined)).toHaveLength(62);
    expect(outcomes.filter(reason => reason === 'space-exhausted')).toHaveLength(8);
  });

  test('after close gives nothing, leases nothing and rejects waiting takes', async () => {
    const source = new FakeRangeSource();
    source.hold();
    const { clock, pool } = start({ source });
    const waiting = reasonOf(pool.take());
    pool.close();
    expect(await waiting).toBe('closed');
    expect(await reasonOf(pool.take())).toBe('closed');
    source.down = true;
    source.release();
    await settle();
    clock.advance(60_000);
    await settle();
    expect(source.asked).toBe(1);
  });

  test('does not retry a lease after close', async () => {
    const source = new FakeRangeSource();
    source.down = true;
    const { clock, pool } = start({ source });
    await settle();
    pool.close();
    await turns(clock, 1_000);
    expect(source.asked).toBe(1);
  });

  test('works on the real clock', async () => {
    const { pool } = start({ clock: systemClock, rangeSize: 1_000, poolMax: 1_000 });
    const batches = await Promise.all(Array.from({ length: 8 }, () => closeAll(pool, 1_000)));
    expect(new Set(batches.flat()).size).toBe(8_000);
    pool.close();
  });

  test.each([0, 1_000_001, 1.5])('refuses a range of %d ids', rangeSize => {
    expect(() => start({ rangeSize })).toThrow('1 to 1,000,000');
  });
});
