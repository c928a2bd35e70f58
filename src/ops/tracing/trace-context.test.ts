import { describe, expect, test } from 'bun:test';
import { parseTraceparent, traceparentOf } from './trace-context.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanId = '00f067aa0ba902b7';

describe('traceparent', () => {
  test('says which trace and span a request belongs to, and whether it is recorded', () => {
    expect(parseTraceparent(`00-${traceId}-${spanId}-01`)).toEqual({ traceId, spanId, isSampled: true });
    expect(parseTraceparent(`00-${traceId}-${spanId}-02`)?.isSampled).toBe(false);
  });

  test('is read as it was written', () => {
    const context = { traceId, spanId, isSampled: true };
    expect(parseTraceparent(traceparentOf(context))).toEqual(context);
  });

  test('of a later version may say more; of this one it may not', () => {
    expect(parseTraceparent(`01-${traceId}-${spanId}-01-more`)?.traceId).toBe(traceId);
    expect(parseTraceparent(`00-${traceId}-${spanId}-01-more`)).toBeUndefined();
  });

  test.each([
    ['nothing', null],
    ['an empty one', ''],
    ['a forbidden version', `ff-${traceId}-${spanId}-01`],
    ['a trace of zeroes', `00-${'0'.repeat(32)}-${spanId}-01`],
    ['a span of zeroes', `00-${traceId}-${'0'.repeat(16)}-01`],
    ['capitals', `00-${traceId.toUpperCase()}-${spanId}-01`],
    ['too few digits', `00-${traceId.slice(1)}-${spanId}-01`],
    ['something to be written elsewhere', `00-${traceId}-${spanId}-01\n{"level":"error"}`],
  ])('is passed over when it is %s', (_what, header) => {
    expect(parseTraceparent(header)).toBeUndefined();
  });
});
