import { beforeEach, describe, expect, test } from 'bun:test';
import { ManualClock } from '../base/clock.ts';
import { samplesStart } from './batch-samples.ts';
import type { HourComparison } from './compare-hours.ts';
import { HourWatch } from './hour-watch.ts';
import { hourMs } from './replay.ts';

describe('the watch over hours', () => {
  let clock: ManualClock;
  let asked: number[];
  let drifts: Map<number, number>;
  let isFilling: boolean;
  let watch: HourWatch;
  beforeEach(() => {
    clock = new ManualClock(samplesStart);
    [asked, drifts, isFilling] = [[], new Map(), false];
    watch = new HourWatch({
      clock,
      async compare(from) {
        asked.push((samplesStart - from) / hourMs);
        return [{ hour: from, drift: drifts.get(from) ?? 0, filling: isFilling } as HourComparison];
      },
    });
  });

  /** A round in which time goes by. */
  async function round(): Promise<void> {
    const running = watch.round();
    for (let step = 0; step < 5; step += 1) {
      await Bun.sleep(0);
      clock.advance(2_000);
    }
    await running;
  }

  test('looks at the newest whole hour first, then at each of a day, and then again', async () => {
    for (let count = 0; count < 25; count += 1) await watch.round();
    expect(asked).toEqual([...Array.from({ length: 24 }, (_, index) => index + 1), 1]);
  });

  test('looks at a new hour as soon as it is over', async () => {
    for (let count = 0; count < 24; count += 1) await watch.round();
    clock.advance(hourMs);
    await watch.round();
    expect(asked.at(-1)).toBe(0);
  });

  test('tells the worst hour, and how many drift more than they may', async () => {
    expect(watch.figures).toBeUndefined();
    drifts.set(samplesStart - hourMs, 0.5);
    drifts.set(samplesStart - 2 * hourMs, 0.0009);
    for (let count = 0; count < 3; count += 1) await round();
    expect(watch.figures).toEqual({ worst: 0.5, drifting: 1 });
  });

  test('believes a drift only when it is there at a second look', async () => {
    drifts.set(samplesStart - hourMs, 0.5);
    const running = watch.round();
    await Bun.sleep(0);
    drifts.clear();
    clock.advance(10_000);
    await running;
    expect([watch.figures, asked]).toEqual([{ worst: 0, drifting: 0 }, [1, 1]]);
  });

  test('says nothing of an hour whose clicks are still on their way', async () => {
    isFilling = true;
    await watch.round();
    expect(watch.figures).toBeUndefined();
  });

  test('forgets an hour after a day', async () => {
    drifts.set(samplesStart - hourMs, 0.5);
    await round();
    clock.advance(25 * hourMs);
    await watch.round();
    expect(watch.figures).toEqual({ worst: 0, drifting: 0 });
  });
});
