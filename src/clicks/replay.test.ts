import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { type SampleClick, sampleBatch, samplesStart } from './batch-samples.ts';
import { FakeReplayableStream } from './fake-replayable-stream.ts';
import { addHours, type HourOfProducer, hourMs, SpanReplay } from './replay.ts';
import { daysOf, isWholeDay } from './span-days.ts';
import type { StreamBatch } from './stream.ts';

const span = { from: samplesStart, to: samplesStart + hourMs };

function batchAt(position: number, firstSequence: number, clicks: readonly SampleClick[]): StreamBatch {
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

test('a replay gives the clicks of its hours, and none from before or after', async () => {
  const stream = new FakeReplayableStream();
  stream.write([
    batchAt(0, 1, clicks(2, span.from - 1)),
    batchAt(1, 3, [{ at: span.from - 1 }, { at: span.from }, { at: span.to - 1 }, { at: span.to }]),
    batchAt(2, 7, clicks(2, span.to)),
  ]);
  expect(await replayed(new SpanReplay(stream, span), upTo(3))).toEqual([4, 5]);
});

test('a click that was written twice is given once, however the copies were cut', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ back: fc.nat(5), count: fc.integer({ min: 1, max: 6 }) }), { maxLength: 20 }),
      async appends => {
        const stream = new FakeReplayableStream();
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

test('a replay ends where the counts stand, and goes on from there when they have gone on', async () => {
  const stream = new FakeReplayableStream();
  stream.write([0, 1, 2, 3].map(position => batchAt(position, position + 1, clicks(1, span.from))));
  const replay = new SpanReplay(stream, span);
  expect(await replayed(replay, upTo(2))).toEqual([1, 2]);
  expect([replay.hasReached(upTo(2)), replay.hasReached(upTo(3))]).toEqual([true, false]);
  expect(await replayed(replay, upTo(2))).toEqual([]);
  expect(await replayed(replay, upTo(4))).toEqual([3, 4]);
});

test('clicks that came hours late are found', async () => {
  const stream = new FakeReplayableStream();
  stream.write([batchAt(0, 1, clicks(1, span.from))]);
  stream.write([batchAt(1, 2, clicks(3, span.from + 1))], span.to + 30 * hourMs);
  expect(await replayed(new SpanReplay(stream, span), upTo(2))).toEqual([1, 2, 3, 4]);
});

test('what was written long before the hours is not read at all', async () => {
  const stream = new FakeReplayableStream();
  stream.write(
    Array.from({ length: 50 }, (_, n) => batchAt(n, n + 1, clicks(1, span.from - (60 - n) * 60_000))),
  );
  stream.write([batchAt(50, 51, clicks(1, span.from))]);
  expect(await replayed(new SpanReplay(stream, span), upTo(51))).toEqual([51]);
  expect(stream.pieces).toBeLessThan(10);
});

test('a partition that gives nothing is an error and not the end of it', async () => {
  const stream = new FakeReplayableStream();
  stream.write([batchAt(0, 1, clicks(1, span.from))]);
  stream.readUntil = async (_partition, position) => ({ items: [], to: position });
  expect(replayed(new SpanReplay(stream, span), upTo(1))).rejects.toThrow('cannot be read at 0');
});

test('whether all of the hours are kept is what the stream says', async () => {
  const stream = new FakeReplayableStream();
  stream.keptSinceMs = span.from;
  expect(await new SpanReplay(stream, span).isKept(upTo(1))).toBe(true);
  stream.keptSinceMs = span.from + 1;
  expect(await new SpanReplay(stream, span).isKept(upTo(1))).toBe(false);
});

test('hours in which another stream was counted are not in this one', async () => {
  const stream = new FakeReplayableStream();
  const both = new Map([...upTo(1), ['foreign/0', 5]]);
  stream.write([batchAt(0, 1, clicks(1, span.from + 1))]);
  expect(await new SpanReplay(stream, span).isKept(upTo(1))).toBe(true);
  expect(await new SpanReplay(stream, span).isKept(both)).toBe(false);
  stream.write([batchAt(1, 2, clicks(1, span.from))], span.from);
  expect(await new SpanReplay(stream, span).isKept(both)).toBe(true);
});

test('clicks are added up by hour and producer', () => {
  const sums = new Map<string, HourOfProducer>();
  const batch = sampleBatch(1, [{ at: span.from }, { at: span.to }, { at: span.to + 1 }]);
  addHours(sums, { producer: 'p', batch, rows: Uint32Array.of(0, 1, 2) });
  addHours(sums, { producer: 'p', batch, rows: Uint32Array.of(0) });
  expect([...sums.values()]).toEqual([
    { hour: span.from, producer: 'p', clicks: 2 },
    { hour: span.to, producer: 'p', clicks: 2 },
  ]);
});

test('the days of a stretch are those it touches, and whole only those it covers', () => {
  const midnight = Date.UTC(2026, 5, 2);
  const stretch = { from: midnight - hourMs, to: midnight + 24 * hourMs };
  expect(daysOf(stretch)).toEqual([midnight - 24 * hourMs, midnight]);
  expect(daysOf(stretch).map(day => isWholeDay(stretch, day))).toEqual([false, true]);
});
