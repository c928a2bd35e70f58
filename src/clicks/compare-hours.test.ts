import { expect, test } from 'bun:test';
import { sampleBatch, samplesStart } from './batch-samples.ts';
import { type ComparisonSources, compareHours, type HourComparison } from './compare-hours.ts';
import { FakeReplayableStream } from './fake-replayable-stream.ts';
import { hourMs } from './replay.ts';

const hour = samplesStart;
const range = { from: hour, to: hour + hourMs, countsStream: false };

function sourcesWith(changes: Partial<ComparisonSources['warehouse']> = {}): ComparisonSources {
  return {
    warehouse: {
      ledger: async () => [{ hour, producer: 'p/0', counted: 90, skipped: 10, duplicates: 3 }],
      producers: async () => [{ producer: 'p/0', sequence: 100 }],
      positions: async () => new Map([['topic/0', 5]]),
      hourSums: async () => [{ hour, counted: 70, forgotten: 20, kept: 90 }],
      comparableSince: async () => 0,
      ...changes,
    },
    heads: async () => [{ producer: 'p', sequence: 100, lastClickAt: hour, alive: true }],
    stream: new FakeReplayableStream(),
    hasTimes: false,
    now: hour + 3 * hourMs,
  };
}

async function only(sources: ComparisonSources, countsStream = false): Promise<HourComparison> {
  const rows = await compareHours(sources, { ...range, countsStream });
  expect(rows).toHaveLength(1);
  return rows[0]!;
}

test('an hour whose numbers agree has lost what was dropped, and nothing else', async () => {
  expect(await only(sourcesWith())).toEqual({
    hour,
    noted: 100,
    dropped: 10,
    missing: 0,
    recorded: 90,
    counted: 90,
    kept: 90,
    inStream: null,
    uncounted: null,
    filling: false,
    drift: 0.1,
  });
});

test.each([
  ['counts of links', { counted: 65, forgotten: 20, kept: 90 }, 0.15],
  ['single clicks', { counted: 70, forgotten: 20, kept: 88 }, 0.12],
  ['counts that are too many', { counted: 180, forgotten: 20, kept: 90 }, 0.6],
])('%s that disagree with the ledger are drift', async (_which, sum, drift) => {
  const sources = sourcesWith({ hourSums: async () => [{ hour, ...sum }] });
  expect((await only(sources)).drift).toBeCloseTo(drift, 10);
});

test('counts without a word in the ledger are drift, and so is a ledger without counts', async () => {
  const heads = async () => [];
  const phantom = { ...sourcesWith({ ledger: async () => [] }), heads };
  expect(await only(phantom)).toMatchObject({ recorded: 0, counted: 90, drift: 1 });
  expect(await only(sourcesWith({ hourSums: async () => [] }))).toMatchObject({ counted: 0, drift: 1 });
});

test('an hour that is too long ago is not compared with its counts', async () => {
  const sources = sourcesWith({ hourSums: async () => [], comparableSince: async () => hour + 1 });
  expect(await only(sources)).toMatchObject({ counted: null, kept: null, drift: 0.1 });
});

test('clicks in the stream are compared too when they are asked for, as long as all of them are there', async () => {
  const sources = sourcesWith();
  const stream = sources.stream as FakeReplayableStream;
  const clicks = Array.from({ length: 80 }, () => ({ at: hour }));
  stream.write([
    { partition: 'topic/0', from: 0, to: 5, producer: 'p/0', batch: sampleBatch(1, clicks) },
    // Not counted yet, and so nothing to be missed.
    { partition: 'topic/0', from: 5, to: 6, producer: 'p/0', batch: sampleBatch(81, clicks) },
  ]);
  expect(await only(sources, true)).toMatchObject({ inStream: 80, drift: 0.2 });
  stream.keptSinceMs = hour + 1;
  expect(await only(sources, true)).toMatchObject({ inStream: null, drift: 0.1 });
});

test('messages that were written in the hour and are not counted are told, and the hour is filling', async () => {
  const sources = { ...sourcesWith(), hasTimes: true };
  const stream = sources.stream as FakeReplayableStream;
  const at = (position: number, time: number) => ({
    partition: 'topic/0',
    from: position,
    to: position + 1,
    producer: 'p/0',
    batch: sampleBatch(position + 1, [{ at: time }]),
  });
  stream.write([4, 5, 6, 7].map(position => at(position, hour + position)));
  stream.write([at(8, hour + hourMs)]);
  expect(await only(sources)).toMatchObject({ uncounted: 3, filling: true });
});

test('the hour that is not over is filling', async () => {
  expect(await only({ ...sourcesWith(), now: hour + hourMs + 1_000 })).toMatchObject({ filling: true });
});
