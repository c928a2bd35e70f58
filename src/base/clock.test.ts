import { expect, test } from 'bun:test';
import { ManualClock, sleep } from './clock.ts';

test('a manual clock runs due tasks in time order, each at the time it was due', async () => {
  const clock = new ManualClock(0);
  const seen: [string, number][] = [];
  const note = (name: string) => () => seen.push([name, clock.now()]);
  clock.after(30, note('late'));
  clock.after(10, note('early'));
  const stop = clock.every(20, note('period'));
  clock.after(15, note('cancelled'))();
  clock.advance(45);
  stop();
  clock.advance(100);
  expect(seen).toEqual([
    ['early', 10],
    ['period', 20],
    ['late', 30],
    ['period', 40],
  ]);

  let slept = false;
  const sleeping = sleep(clock, 5).then(() => {
    slept = true;
  });
  await Bun.sleep(0);
  expect(slept).toBe(false);
  clock.advance(5);
  await sleeping;
  expect(slept).toBe(true);
});
