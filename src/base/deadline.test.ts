import { describe, expect, test } from 'bun:test';
import { ManualClock } from './clock.ts';
import { endsWithin, withinDeadline, withSignal } from './deadline.ts';

const late = () => new Error('too late');

describe('work with a signal', () => {
  test('is aborted when the time is over, not before', async () => {
    const clock = new ManualClock();
    const states: boolean[] = [];
    await withSignal(clock, 100, async signal => {
      clock.advance(99);
      states.push(signal.aborted);
      clock.advance(1);
      states.push(signal.aborted);
    });
    expect(states).toEqual([false, true]);
  });

  test('that has ended is not aborted later', async () => {
    const clock = new ManualClock();
    const signal = await withSignal(clock, 100, async given => given);
    clock.advance(1_000);
    expect(signal.aborted).toBe(false);
  });
});

describe('work within a deadline', () => {
  test('settles as it does', async () => {
    const clock = new ManualClock();
    expect(await withinDeadline(clock, 100, Promise.resolve(1), late)).toBe(1);
    await expect(withinDeadline(clock, 100, Promise.reject(new Error('its own')), late)).rejects.toThrow(
      'its own',
    );
  });

  test('is given up when the time is over, and its later failure is ignored', async () => {
    const clock = new ManualClock();
    const { promise, reject } = Promise.withResolvers<never>();
    const result = withinDeadline(clock, 100, promise, late);
    clock.advance(100);
    await expect(result).rejects.toThrow('too late');
    reject(new Error('ignored'));
  });
});

test('an answer that came while this process paused is taken', async () => {
  const clock = new ManualClock();
  const { promise, resolve } = Promise.withResolvers<string>();
  const result = withinDeadline(clock, 100, promise, late);
  clock.advance(100);
  resolve('unread');
  expect(await result).toBe('unread');
});

test('work ends within a time, or does not, or fails', async () => {
  const clock = new ManualClock();
  expect(await endsWithin(clock, 100, Promise.resolve())).toBe(true);
  const never = endsWithin(clock, 100, new Promise(() => {}));
  clock.advance(100);
  expect(await never).toBe(false);
  await expect(endsWithin(clock, 100, Promise.reject(new Error('it failed')))).rejects.toThrow('it failed');
});
