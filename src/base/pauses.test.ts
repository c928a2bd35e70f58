import { expect, test } from 'bun:test';
import { ManualClock } from './clock.ts';
import { Pauses } from './pauses.ts';

async function isPending(promise: Promise<void>): Promise<boolean> {
  return (await Promise.race([promise.then(() => 'over'), Bun.sleep(0).then(() => 'pending')])) === 'pending';
}

test('a pause ends at its time or with the end, whichever comes first', async () => {
  const clock = new ManualClock();
  const pauses = new Pauses(clock);
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

test('pauses after failures grow to a bound, and begin anew once something works', async () => {
  const clock = new ManualClock();
  const pauses = new Pauses(clock);
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
