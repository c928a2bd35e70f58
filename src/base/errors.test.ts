import { describe, expect, test } from 'bun:test';
import {
  isInDoubt,
  maybeDone,
  notDone,
  Problem,
  type ProblemCode,
  problemTable,
  withOutcome,
  withoutStackTraces,
} from './errors.ts';

const linesOf = (error: Error): number => (error.stack?.match(/^ +at /gm) ?? []).length;

describe('an outcome', () => {
  test('is set for every 503, and for nothing else', () => {
    for (const [code, { status }] of Object.entries(problemTable)) {
      const { outcome } = new Problem(code as ProblemCode);
      expect({ code, has: outcome !== undefined }).toEqual({ code, has: status === 503 });
    }
    expect(new Problem('overloaded').outcome).toBe('none');
    // By default a failed write may have been applied.
    expect(new Problem('store_unavailable').outcome).toBe('unknown');
    expect(new Problem('store_unavailable', { outcome: 'none' }).outcome).toBe('none');
  });

  test('can be replaced by a caller that knows better; everything else stays', () => {
    const cause = new Error('cause');
    const options = { detail: 'Detail.', fields: { field: 'a' }, headers: { 'Retry-After': '7' }, cause };
    const unknown = new Problem('store_unavailable', options);
    const none = withOutcome(unknown, 'none') as Problem;
    expect(none).toMatchObject({ ...options, code: 'store_unavailable', outcome: 'none' });
    expect([isInDoubt(unknown), isInDoubt(none)]).toEqual([true, false]);
    expect(() => notDone(unknown)).toThrow(expect.objectContaining({ outcome: 'none' }));
    expect(() => maybeDone(none)).toThrow(expect.objectContaining({ outcome: 'unknown' }));
    const other = new Problem('alias_taken');
    expect([withOutcome(other, 'none'), withOutcome(cause, 'unknown')]).toEqual([other, cause]);
  });
});

describe('a stack trace', () => {
  test.each(['invalid_url', 'rate_limited', 'overloaded', 'store_unavailable'] as const)(
    'is not captured for a rejection: %s',
    code => {
      const before = Error.stackTraceLimit;
      expect(linesOf(new Problem(code))).toBe(0);
      expect(Error.stackTraceLimit).toBe(before);
      expect(linesOf(new Error('another'))).toBeGreaterThan(0);
    },
  );

  test('is captured for an internal error', () => {
    expect(linesOf(new Problem('internal'))).toBeGreaterThan(0);
  });

  test('is not captured where it is switched off, and is captured elsewhere again, even after an error', () => {
    expect(linesOf(withoutStackTraces(() => new Error('quiet')))).toBe(0);
    const fail = (): never => {
      throw new RangeError('loud');
    };
    expect(() => withoutStackTraces(fail)).toThrow(RangeError);
    expect(linesOf(new Error('another'))).toBeGreaterThan(0);
  });
});
