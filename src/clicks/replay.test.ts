import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { systemClock } from '../base/clock.ts';
import { type SampleClick, sampleBatch, samplesStart } from './batch-samples.ts';
import { FakeLog } from './fake-log.ts';
import type { LogBatch } from './log.ts';
import { hourMs, SpanReplay, wholeDays } from './replay.ts';

const span = { from: samplesStart, to: samplesStart + hourMs };

function batchAt(position: number, firstSequence: number, clicks: readonly SampleClick[]): LogBatch {
  const batch = sampleBatch(firstSequence, clicks);
  return { partition: 'topic/0', from: position, to: position + 1, producer: 'host/0', batch };
}

async function replayed(replay: SpanReplay, positions: ReadonlyMap<string, number>): Promise<number[]> {
  const sequences: number[] = [];
  for await (const piece of replay.upTo(positions))
    for (const { batch, rows } of piece) for (const row of rows) sequences.push(batch.firstSequence + row);
  return sequences;
}

const upTo = (position: number): Map<string, number> => new Map([['topic/0', position]]);
const clicks = (count: number, at: number): SampleClick[] => Array.from({ length: count }, () => ({ at }));

test('a replay returns the clicks of its hours, and none from before or after', async () => {
  const stream = new FakeLog();
  stream.write([
    batchAt(0, 1, clicks(2, span.from - 1)),
    batchAt(1, 3, [{ at: span.from - 1 }, { at: span.from }, { at: span.to - 1 }, { at: span.to }]),
    batchAt(2, 7, clicks(2, span.to)),
  ]);
  expect(await replayed(new SpanReplay(stream, span), upTo(3))).toEqual([4, 5]);
});

test('a click that was written twice is returned once, however the copies are split into batches', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ back: fc.nat(5), count: fc.integer({ min: 1, max: 6 }) }), { maxLength: 20 }),
      async appends => {
        const stream = new FakeLog();
        let next = 1;
        for (const [position, { back, count }] of appends.entries()) {
          const first = Math.max(1, next - back);
          stream.write([batchAt(position, first, clicks(count, span.from))]);
          next = Math.max(next, first + count);
        }
        const sequences = await replayed(new SpanReplay(stream, span), upTo(appends.length));
        expect(sequences).toEqual(Array.from({ length: next - 1 }, (_, index) => index + 1));
      },
    ),
  );
});

test('a replay ends at the position of the counts, and continues from there when they have advanced', async () => {
  const stream = new FakeLog();
  stream.write([0, 1, 2, 3].map(position => batchAt(position, position + 1, clicks(1, span.from))));
  const replay = new SpanReplay(stream, span);
  expect(await replayed(replay, upTo(2))).toEqual([1, 2]);
  expect([replay.hasReached(upTo(2)), replay.hasReached(upTo(3))]).toEqual([true, false]);
  expect(await replayed(replay, upTo(2))).toEqual([]);
  expect(await replayed(replay, upTo(4))).toEqual([3, 4]);
});

test('clicks that came hours late are found', async () => {
  const stream = new FakeLog();
  stream.write([batchAt(0, 1, clicks(1, span.from))]);
  stream.write([batchAt(1, 2, clicks(3, span.from + 1))], span.to + 30 * hourMs);
  expect(await replayed(new SpanReplay(stream, span), upTo(2))).toEqual([1, 2, 3, 4]);
});

test('messages that were written long before the hours are not read', async () => {
  const stream = new FakeLog();
  stream.write(
    Array.from({ length: 50 }, (_, n) => batchAt(n, n + 1, clicks(1, span.from - (60 - n) * 60_000))),
  );
  stream.write([batchAt(50, 51, clicks(1, span.from))]);
  expect(await replayed(new SpanReplay(stream, span), upTo(51))).toEqual([51]);
  expect(stream.pieces).toBeLessThan(10);
});

test('a partition that returns nothing is an error and not the end of the partition', async () => {
  const stream = new FakeLog();
  stream.write([batchAt(0, 1, clicks(1, span.from))]);
  const impatient = {
    ...systemClock,
    after: (_delayMs: number, task: () => void) => systemClock.after(0, task),
  };
  for (const piece of [undefined, { items: [], to: 0, end: 1 }, { items: [], to: 0, end: 0 }]) {
    stream.read = async () => new Map(piece && [['topic/0', piece]]);
    const replay = new SpanReplay(stream, span, impatient);
    await expect(replayed(replay, upTo(1))).rejects.toThrow('cannot be read at 0');
  }
});

test('whether all of the hours are kept is what the stream says', async () => {
  const stream = new FakeLog();
  stream.keptSinceMs = span.from;
  expect(await new SpanReplay(stream, span).isKept(upTo(1), undefined)).toBe(true);
  stream.keptSinceMs = span.from + 1;
  expect(await new SpanReplay(stream, span).isKept(upTo(1), undefined)).toBe(false);
});

test('hours in which another stream was counted are not in this one', async () => {
  const stream = new FakeLog();
  const both = new Map([...upTo(1), ['foreign/0', 5]]);
  stream.write([batchAt(0, 1, clicks(1, span.from + 1))]);
  expect(await new SpanReplay(stream, span).isKept(upTo(1), undefined)).toBe(true);
  expect(await new SpanReplay(stream, span).isKept(both, undefined)).toBe(false);
  // A recount of everything has dropped the position of the other stream, and kept its counts.
  expect(await new SpanReplay(stream, span).isKept(upTo(1), span.from - 100 * 24 * hourMs)).toBe(false);
  stream.write([batchAt(1, 2, clicks(1, span.from))], span.from);
  expect(await new SpanReplay(stream, span).isKept(both, undefined)).toBe(true);
});

test('clicks that were read are added up by hour and producer', async () => {
  const stream = new FakeLog();
  stream.write([batchAt(0, 1, [{ at: span.from }, { at: span.from + 1 }, { at: span.to }])]);
  const replay = new SpanReplay(stream, { from: span.from, to: span.to + hourMs });
  await replayed(replay, upTo(1));
  expect([...replay.hours]).toEqual([
    { hour: span.from, producer: 'host/0', clicks: 2 },
    { hour: span.to, producer: 'host/0', clicks: 1 },
  ]);
  expect(replay.clicksIn(span)).toBe(2);
});

test('the whole days of a span are all that it touches', () => {
  const midnight = Date.UTC(2026, 5, 2);
  const days = { from: midnight - 24 * hourMs, to: midnight + 24 * hourMs };
  expect(wholeDays({ from: midnight - hourMs, to: midnight + hourMs })).toEqual(days);
  expect(wholeDays(days)).toEqual(days);
});
