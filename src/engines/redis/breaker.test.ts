import { beforeEach, describe, expect, test } from 'bun:test';
import { ManualClock } from '../../base/clock.ts';
import { Breaker } from './breaker.ts';

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

  test('starts open, because nobody has heard of the server yet', () => {
    expect(new Breaker(clock).isOpen).toBe(true);
  });

  test('opens at the third failure in a row, and says so once', () => {
    expect([breaker.failed(), breaker.failed(), breaker.failed(), breaker.failed()]).toEqual([
      false,
      false,
      true,
      false,
    ]);
    expect(breaker.isOpen).toBe(true);
  });

  test('forgives failures that successes come between', () => {
    repeat(10, () => {
      breaker.failed();
      repeat(9, () => breaker.succeeded());
    });
    expect(breaker.isOpen).toBe(false);
  });

  test('opens when a quarter of many recent calls failed', () => {
    repeat(8, () => {
      breaker.failed();
      repeat(2, () => breaker.succeeded());
    });
    expect(breaker.isOpen).toBe(true);
  });

  test('judges recent calls only', () => {
    repeat(5, () => {
      breaker.failed();
      repeat(2, () => breaker.succeeded());
    });
    clock.advance(1_000);
    repeat(5, () => {
      breaker.failed();
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
