import { beforeEach, describe, expect, test } from 'bun:test';
import { ManualClock } from '../../base/clock.ts';
import { Breaker } from './node.ts';

describe('breaker', () => {
  let clock: ManualClock;
  let breaker: Breaker;
  beforeEach(() => {
    clock = new ManualClock();
    breaker = new Breaker(clock);
    breaker.close();
  });
  const repeat = (times: number, act: () => void): void => {
    for (let n = 0; n < times; n += 1) act();
  };

  /** A call that begins and fails at this moment. */
  const fail = (): boolean => breaker.failed(clock.monotonicMs());

  test('starts open, because the server has not answered yet', () => {
    expect(new Breaker(clock).isOpen).toBe(true);
  });

  test('opens at the third failure in a row, and says so once', () => {
    expect([fail(), fail(), fail(), fail()]).toEqual([false, false, true, false]);
    expect(breaker.isOpen).toBe(true);
  });

  test('forgives failures that successes come between', () => {
    repeat(10, () => {
      fail();
      repeat(9, () => breaker.succeeded());
    });
    expect(breaker.isOpen).toBe(false);
  });

  test('takes calls that waited together for one failure in a row', () => {
    const together = (): void => {
      const startedMs = clock.monotonicMs();
      clock.advance(50);
      repeat(10, () => breaker.failed(startedMs));
    };
    repeat(80, () => breaker.succeeded());
    together();
    repeat(2, () => {
      expect(breaker.isOpen).toBe(false);
      repeat(80, () => breaker.succeeded());
      together();
    });
    expect(breaker.isOpen).toBe(false);
    together();
    together();
    expect(breaker.isOpen).toBe(true);
  });

  test('opens when a quarter of many recent calls failed', () => {
    repeat(8, () => {
      fail();
      repeat(2, () => breaker.succeeded());
    });
    expect(breaker.isOpen).toBe(true);
  });

  test('judges recent calls only', () => {
    repeat(5, () => {
      fail();
      repeat(2, () => breaker.succeeded());
    });
    clock.advance(1_000);
    repeat(5, () => {
      fail();
      repeat(2, () => breaker.succeeded());
    });
    expect(breaker.isOpen).toBe(false);
  });

  test('waits longer each time a return was premature, up to a bound, and forgives that after a good while', () => {
    const waits: number[] = [];
    repeat(7, () => {
      breaker.open();
      waits.push(breaker.waitMs);
      breaker.close();
      clock.advance(100);
    });
    expect(waits).toEqual([400, 800, 1_600, 3_200, 3_200, 3_200, 3_200]);
    clock.advance(10_000);
    breaker.open();
    expect(breaker.waitMs).toBe(200);
  });
});
