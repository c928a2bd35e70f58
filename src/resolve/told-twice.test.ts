import { beforeEach, describe, expect, test } from 'bun:test';
import { ManualClock } from '../base/clock.ts';
import { ToldTwice } from './told-twice.ts';

describe('a change that is told twice', () => {
  let clock: ManualClock;
  let told: ToldTwice;
  beforeEach(() => {
    clock = new ManualClock();
    told = new ToldTwice(clock);
  });

  test('is recognised the second time, whoever is first', () => {
    expect([told.tell('a', 'message'), told.tell('a', 'feed')]).toEqual([false, true]);
    expect([told.tell('a', 'feed'), told.tell('a', 'message')]).toEqual([false, true]);
  });

  test('does not stand for another one of the same link', () => {
    expect([told.tell('a', 'message'), told.tell('a', 'feed'), told.tell('a', 'feed')]).toEqual([
      false,
      true,
      false,
    ]);
  });

  test('counts as often as it is told', () => {
    expect([told.tell('a', 'message'), told.tell('a', 'message')]).toEqual([false, false]);
    expect([told.tell('a', 'feed'), told.tell('a', 'feed'), told.tell('a', 'feed')]).toEqual([
      true,
      true,
      false,
    ]);
  });

  test('is no more waited for after a while', () => {
    told.tell('a', 'message');
    clock.advance(5_000);
    expect(told.tell('a', 'feed')).toBe(false);
  });

  test('is forgotten when there are too many, the oldest first', () => {
    for (let n = 0; n <= 20_001; n += 1) told.tell(`code${n}`, 'message');
    expect([told.tell('code0', 'feed'), told.tell('code20001', 'feed')]).toEqual([false, true]);
  });
});
