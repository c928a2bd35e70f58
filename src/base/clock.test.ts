import { describe, expect, test } from 'bun:test';
import { ManualClock, sleep, Turns } from './clock.ts';

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

describe('work in slices', () => {
  /** How many items each slice had. */
  async function turnsOf(
    items: number,
    itemsMax: number,
    work: (clock: ManualClock) => void,
  ): Promise<number[]> {
    const clock = new ManualClock();
    const turns = new Turns(clock, itemsMax);
    const counts = [0];
    for (let item = 0; item < items; item += 1) {
      if (!turns.hasRoom()) {
        await turns.next();
        counts.push(0);
      }
      work(clock);
      counts[counts.length - 1]! += 1;
    }
    return counts;
  }

  test('yields after a number of items', async () => {
    expect(await turnsOf(7, 3, () => {})).toEqual([3, 3, 1]);
  });

  test('pauses sooner when items take long', async () => {
    expect(await turnsOf(5, 100, clock => clock.advance(2))).toEqual([2, 2, 1]);
    expect(await turnsOf(3, 100, clock => clock.advance(50))).toEqual([1, 1, 1]);
  });

  test('lets other tasks run while it yields', async () => {
    let others = 0;
    setImmediate(() => {
      others += 1;
    });
    await turnsOf(2, 1, () => {});
    expect(others).toBe(1);
  });
});
