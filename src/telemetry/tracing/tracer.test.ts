import { describe, expect, test } from 'bun:test';
import { ManualClock } from '../../base/clock.ts';
import { seededRandom } from '../../base/random.ts';
import { createTracer, type FinishedSpan, parseTraceparent, traced } from './tracer.ts';

function tracerWith({ oneIn = 1 } = {}) {
  const spans: FinishedSpan[] = [];
  const clock = new ManualClock();
  const sink = { take: (span: FinishedSpan) => void spans.push(span) };
  return { spans, clock, tracer: createTracer({ sink, clock, random: seededRandom(1), oneIn }) };
}

const parent = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), isSampled: true };

describe('a tracer', () => {
  test('hands over a span once it has ended, with its time, what was noted and what went wrong', () => {
    const { tracer, clock, spans } = tracerWith();
    const span = tracer.start('request', { kind: 'server', attributes: { method: 'POST' } });
    clock.advance(25);
    span.set('status', 503);
    span.rename('createLink');
    expect(spans).toEqual([]);
    span.end('the store is down');
    span.end();
    expect(spans).toHaveLength(1);
    expect(spans[0]).toMatchObject({
      name: 'createLink',
      kind: 'server',
      parentSpanId: undefined,
      attributes: { method: 'POST', status: 503 },
      failure: 'the store is down',
    });
    expect(spans[0]!.endedAt - spans[0]!.startedAt).toBe(25);
    expect(spans[0]!.traceId).toMatch(/^[0-9a-f]{32}$/);
    expect(spans[0]!.spanId).toMatch(/^[0-9a-f]{16}$/);
  });

  test('lets no part of a span end after it, though the wall clock has whole milliseconds only', () => {
    const spans: FinishedSpan[] = [];
    const present = { wallMs: 1_000, atMs: 0.9 };
    const clock = Object.assign(new ManualClock(), {
      now: () => present.wallMs + Math.floor(present.atMs),
      monotonicMs: () => present.atMs,
    });
    const sink = { take: (span: FinishedSpan) => void spans.push(span) };
    const tracer = createTracer({ sink, clock, random: seededRandom(1), oneIn: 1 });
    const whole = tracer.start('request');
    present.atMs = 1.05;
    const part = tracer.start('store insert', { parent: whole.context });
    present.atMs = 1.5;
    part.end();
    present.atMs = 1.6;
    whole.end();
    expect(spans[0]!.startedAt).toBeGreaterThanOrEqual(spans[1]!.startedAt);
    expect(spans[0]!.endedAt).toBeLessThanOrEqual(spans[1]!.endedAt);
    // One that was set is followed.
    present.wallMs += 60_000;
    tracer.start('later').end();
    expect(spans[2]!.startedAt).toBeWithin(61_000, 61_010);
  });

  test('goes on with the trace that it is given, under a span of its own', () => {
    const { tracer, spans } = tracerWith({ oneIn: 1_000_000 });
    tracer.start('inner', { parent }).end();
    expect(spans[0]).toMatchObject({ traceId: parent.traceId, parentSpanId: parent.spanId });
    expect(spans[0]!.spanId).not.toBe(parent.spanId);
  });

  test('records nothing of a trace whose parent does not want it, and still names it', () => {
    const { tracer, spans } = tracerWith();
    const span = tracer.start('inner', { parent: { ...parent, isSampled: false } });
    span.end();
    expect(span.context).toMatchObject({ traceId: parent.traceId, isSampled: false });
    expect(spans).toEqual([]);
  });

  test('decides by itself about a trace whose parent does not say, and goes on with it', () => {
    const { isSampled: _, ...undecided } = parent;
    const rare = tracerWith({ oneIn: 1_000_000 });
    expect(rare.tracer.start('inner', { parent: undecided }).context.isSampled).toBe(false);
    const { tracer, spans } = tracerWith();
    tracer.start('inner', { parent: undecided }).end();
    expect(spans[0]).toMatchObject({ traceId: parent.traceId, parentSpanId: parent.spanId });
  });

  test('records about one of so many that begin here', () => {
    const { tracer, spans } = tracerWith({ oneIn: 10 });
    for (let n = 0; n < 10_000; n += 1) tracer.start('request').end();
    expect(spans.length).toBeGreaterThan(800);
    expect(spans.length).toBeLessThan(1_200);
  });

  test('follows work to its end, and passes on what it gives or how it fails', async () => {
    const { tracer, spans } = tracerWith();
    expect(await traced(tracer, 'sweep', {}, async () => 7)).toBe(7);
    const failing = traced(tracer, 'sweep', {}, () => Promise.reject(new Error('down')));
    await expect(failing).rejects.toThrow('down');
    expect(spans.map(({ failure }) => failure)).toEqual([undefined, 'down']);
  });
});

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanId = '00f067aa0ba902b7';

describe('traceparent', () => {
  test('says which trace and span a request belongs to, and whether it is recorded', () => {
    expect(parseTraceparent(`00-${traceId}-${spanId}-01`)).toEqual({ traceId, spanId, isSampled: true });
    expect(parseTraceparent(`00-${traceId}-${spanId}-02`)?.isSampled).toBe(false);
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
