import { describe, expect, test } from 'bun:test';
import { Findings, medianMs, medianOf, messageOf } from './finding.ts';

describe('findings', () => {
  test('are noted in order under their subject, and only what is not ok says what to do', () => {
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
    let nowMs = 0;
    const took = [3, 500, 3, 3, 3];
    const ping = async (): Promise<void> => {
      nowMs += took.shift()!;
    };
    expect(await medianMs(() => nowMs, ping)).toBe(3);
  });

  test('the innermost message is the one that tells', () => {
    const refused = new Error('connect ECONNREFUSED 127.0.0.1:5432');
    expect(messageOf(new Error('away', { cause: new AggregateError([refused, refused]) }))).toBe(
      'connect ECONNREFUSED 127.0.0.1:5432',
    );
    expect(messageOf('plain\nand more')).toBe('plain');
  });
});
