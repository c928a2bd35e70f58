import { beforeEach, describe, expect, test } from 'bun:test';
import { ManualClock } from '../base/clock.ts';
import { RecentChanges } from './recent-changes.ts';

describe('recent changes', () => {
  let clock: ManualClock;
  let recent: RecentChanges;
  let startedMs: number;
  beforeEach(() => {
    clock = new ManualClock();
    startedMs = clock.monotonicMs();
    recent = new RecentChanges(clock, 3);
  });

  test('are known for as long as is asked for, counted from the last time', () => {
    recent.add('a');
    clock.advance(600);
    recent.add('a');
    clock.advance(600);
    expect([
      recent.isHeardWithin('a', 601),
      recent.isHeardWithin('a', 600),
      recent.isHeardWithin('b', 600),
    ]).toEqual([true, false, false]);
  });

  test('are complete from the start until one had to be left out, the oldest first', () => {
    for (const code of ['a', 'b', 'a', 'c']) {
      clock.advance(10);
      recent.add(code);
    }
    expect([...recent.codes()]).toEqual(['b', 'a', 'c']);
    expect(recent.completeSinceMs).toBe(startedMs);
    recent.add('d');
    expect([...recent.codes()]).toEqual(['a', 'c', 'd']);
    expect(recent.completeSinceMs).toBe(startedMs + 20);
  });

  test('are let go after a minute', () => {
    recent.add('a');
    clock.advance(30_000);
    recent.add('b');
    clock.advance(30_001);
    recent.forgetOld();
    expect([...recent.codes()]).toEqual(['b']);
    expect(recent.completeSinceMs).toBe(startedMs);
    clock.advance(30_000);
    recent.forgetOld();
    expect([...recent.codes()]).toEqual([]);
    expect(recent.completeSinceMs).toBe(startedMs + 30_000);
  });
});
