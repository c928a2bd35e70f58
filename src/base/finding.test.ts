import { describe, expect, test } from 'bun:test';
import { ManualClock } from './clock.ts';
import { Findings, leastSkew, medianMs, medianOf, messageOf } from './finding.ts';

describe('findings', () => {
  test('are listed in order under their subject, and only those that are not ok give advice', () => {
    const findings = new Findings('redis');
    findings.ok('reachable', 'answers');
    findings.warn('memory', 'no limit', 'set one');
    findings.fail('role', 'a replica', 'name the primary');
    expect(findings.list).toEqual([
      { subject: 'redis', check: 'reachable', verdict: 'ok', detail: 'answers' },
      { subject: 'redis', check: 'memory', verdict: 'warn', detail: 'no limit', fix: 'set one' },
      { subject: 'redis', check: 'role', verdict: 'fail', detail: 'a replica', fix: 'name the primary' },
    ]);
  });

  test('one slow answer does not make an engine slow', async () => {
    expect(medianOf([5, 900, 4, 6, 5])).toBe(5);
    const clock = new ManualClock();
    const took = [3, 500, 3, 3, 3];
    const ping = async (): Promise<void> => {
      clock.advance(took.shift()!);
    };
    expect(await medianMs(clock, ping)).toBe(3);
  });

  test('the innermost message is the one that is reported', () => {
    const refused = new Error('connect ECONNREFUSED 127.0.0.1:5432');
    expect(messageOf(new Error('down', { cause: new AggregateError([refused, refused]) }))).toBe(
      'connect ECONNREFUSED 127.0.0.1:5432',
    );
    expect(messageOf('plain\nand more')).toBe('plain');
  });
});

test('a clock is judged by no more than what a slow answer proves', () => {
  expect(leastSkew(1_000, 900, 1_200)).toBe(-100);
  expect(leastSkew(1_000, 1_000, 1_200)).toBe(0);
  // However long the answer took: the clock may have been read at any time before it.
  expect(leastSkew(1_000, 5_000, 60_000)).toBe(0);
  expect(leastSkew(1_000, 61_000, 60_000)).toBe(1_000);
});
