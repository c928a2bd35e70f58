import { afterEach, beforeEach, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '../../base/clock.ts';
import { sampleBatch } from '../batch-samples.ts';
import type { LogSpan } from '../log.ts';
import { hourMs, SpanReplay, wholeDays } from '../replay.ts';
import { createEmbeddedLog, openEmbeddedLog } from './embedded.ts';

const midnight = Date.UTC(2026, 5, 2);
const lastHour = { from: midnight - hourMs, to: midnight };

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'terse-replay-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Each of these clicks in a frame of its own, appended at its time or later. */
async function append(
  times: readonly { readonly at: number; readonly storedAt?: number }[],
): Promise<LogSpan[]> {
  const clock = new ManualClock(times[0]!.storedAt ?? times[0]!.at);
  const stream = createEmbeddedLog({ folder, producer: 'p', clock });
  const spans: LogSpan[] = [];
  for (const [index, { at, storedAt = at }] of times.entries()) {
    clock.advance(storedAt - clock.now());
    spans.push(await stream.append(sampleBatch(index + 1, [{ at }])));
  }
  await stream.close();
  return spans;
}

async function replayed(spans: readonly LogSpan[]): Promise<number[]> {
  const positions = new Map(spans.map(({ partition, to }) => [partition, to]));
  const found: number[] = [];
  for await (const piece of new SpanReplay(openEmbeddedLog(folder), lastHour).upTo(positions))
    for (const { batch, rows } of piece) for (const row of rows) found.push(batch.firstSequence + row);
  return found;
}

test('the last hour of a day is read from its log and from that of the next day', async () => {
  const spans = await append([
    { at: midnight - 30 * hourMs },
    { at: midnight - hourMs },
    { at: midnight - 1 },
    { at: midnight - 1, storedAt: midnight + 1 },
    { at: midnight + 2 },
  ]);
  expect(await replayed(spans)).toEqual([2, 3, 4]);
});

test('clicks in the log that are not counted yet are left to the consumers', async () => {
  const spans = await append([{ at: midnight - 3 }, { at: midnight - 2 }, { at: midnight - 1 }]);
  expect(await replayed(spans.slice(0, 2))).toEqual([1, 2]);
});

test('a log keeps what its oldest day has, and an empty one nothing', async () => {
  const stream = openEmbeddedLog(folder);
  expect((await stream.retention()).keptSince).toBe(Number.POSITIVE_INFINITY);
  await append([{ at: midnight - hourMs }]);
  expect((await stream.retention()).keptSince).toBe(midnight - 24 * hourMs);
});

test('the first day of a log is in doubt when another stream was counted before it', async () => {
  const spans = await append([{ at: midnight - hourMs }]);
  const positions = new Map(spans.map(({ partition, to }) => [partition, to]));
  const replay = new SpanReplay(openEmbeddedLog(folder), wholeDays(lastHour));
  expect(await replay.isKept(positions, undefined)).toBe(true);
  expect(await replay.isKept(positions.set('clicks/0', 7), undefined)).toBe(false);
});
