import { heapStats } from 'bun:jsc';
import { describe, expect, test } from 'bun:test';
import { Backoff, backoffMs } from './backoff.ts';
import { ManualClock, yieldToEventLoop } from './clock.ts';
import { systemRandom } from './random.ts';

async function isPending(promise: Promise<void>): Promise<boolean> {
  return (
    (await Promise.race([promise.then(() => 'over'), yieldToEventLoop().then(() => 'pending')])) === 'pending'
  );
}

test('a pause ends at its time or when the loop is stopped, whichever comes first', async () => {
  const clock = new ManualClock();
  const pauses = new Backoff(clock);
  const first = pauses.for(100);
  clock.advance(99);
  expect(await isPending(first)).toBe(true);
  clock.advance(1);
  expect(await isPending(first)).toBe(false);
  const second = pauses.for(1_000_000);
  pauses.end();
  expect(await isPending(second)).toBe(false);
  expect(pauses.isOver).toBe(true);
  expect(await isPending(pauses.for(100))).toBe(false);
  expect(await isPending(pauses.afterFailure())).toBe(false);
});

test('pauses that are over leave nothing behind', async () => {
  const clock = new ManualClock();
  const pauses = new Backoff(clock);
  const pauseOften = async (times: number): Promise<number> => {
    for (let time = 0; time < times; time += 1) {
      const pause = pauses.for(1);
      clock.advance(1);
      await pause;
    }
    Bun.gc(true);
    return heapStats().objectCount;
  };
  const before = await pauseOften(1_000);
  expect((await pauseOften(20_000)) - before).toBeLessThan(5_000);
});

test('pauses after failures grow up to a limit, and are reset by a success', async () => {
  const clock = new ManualClock();
  const pauses = new Backoff(clock);
  const lengthOf = async (pause: Promise<void>): Promise<number> => {
    let ms = 0;
    for (; await isPending(pause); ms += 100) clock.advance(100);
    return ms;
  };
  const lengths: number[] = [];
  for (let failure = 0; failure < 8; failure += 1) lengths.push(await lengthOf(pauses.afterFailure()));
  expect(lengths).toEqual([100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
  pauses.reset();
  expect(await lengthOf(pauses.afterFailure())).toBe(100);
});

describe('the pause after failures', () => {
  const range = { minMs: 50, maxMs: 1_000 };

  test('doubles up to its bound, however many there are', () => {
    expect([1, 2, 3, 5, 6, 2_000].map(failures => backoffMs(failures, range))).toEqual([
      50, 100, 200, 800, 1_000, 1_000,
    ]);
  });

  test('is at least half of that with jitter', () => {
    const [least, most] = [0, 1].map(float => backoffMs(3, range, { ...systemRandom, float: () => float }));
    expect([least, most]).toEqual([100, 200]);
  });
});
