import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { ManualClock } from '../base/clock.ts';
import { Velocity } from './velocity.ts';

const minuteMs = 60_000;

describe('velocity', () => {
  test('counts the links of the last hour, each maker apart', () => {
    const clock = new ManualClock();
    const velocity = new Velocity(clock);
    for (let link = 1; link <= 60; link += 1) expect(velocity.note('a')).toBe(link);
    expect(velocity.note('b')).toBe(1);
    clock.advance(61 * minuteMs);
    expect(velocity.note('a')).toBe(1);
  });

  test('never misses a link of the last 55 minutes and never counts one older than an hour', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(40), { maxLength: 40 }), gaps => {
        const clock = new ManualClock();
        const velocity = new Velocity(clock);
        const made: number[] = [];
        for (const gap of gaps) {
          clock.advance(gap * minuteMs);
          made.push(clock.now());
          const counted = velocity.note('a');
          const within = (minutes: number): number =>
            made.filter(at => clock.now() - at < minutes * minuteMs).length;
          expect(counted).toBeGreaterThanOrEqual(within(55));
          expect(counted).toBeLessThanOrEqual(within(60));
        }
      }),
    );
  });

  test('forgets whoever was quiet for longest when there are too many', () => {
    const velocity = new Velocity(new ManualClock(), 2);
    for (const key of ['a', 'b', 'a', 'c']) velocity.note(key);
    expect(velocity.size).toBe(2);
    expect(velocity.note('a')).toBe(3);
    expect(velocity.note('b')).toBe(1);
  });
});
