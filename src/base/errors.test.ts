import { describe, expect, test } from 'bun:test';
import { Problem, withoutStackTraces } from './errors.ts';

const linesOf = (error: Error): number => (error.stack?.match(/^ +at /gm) ?? []).length;

describe('a stack trace', () => {
  test.each(['invalid_url', 'rate_limited', 'overloaded'] as const)('is not taken of a refusal: %s', code => {
    const before = Error.stackTraceLimit;
    expect(linesOf(new Problem(code))).toBe(0);
    expect(Error.stackTraceLimit).toBe(before);
    expect(linesOf(new Error('another'))).toBeGreaterThan(0);
  });

  test('is taken of a fault of ours', () => {
    expect(linesOf(new Problem('store_unavailable'))).toBeGreaterThan(0);
  });

  test('is not taken where nobody wants it, and everywhere else again, also after a fault', () => {
    expect(linesOf(withoutStackTraces(() => new Error('quiet')))).toBe(0);
    const fail = (): never => {
      throw new RangeError('loud');
    };
    expect(() => withoutStackTraces(fail)).toThrow(RangeError);
    expect(linesOf(new Error('another'))).toBeGreaterThan(0);
  });
});
