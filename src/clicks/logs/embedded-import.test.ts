import { afterEach, beforeEach, expect, test } from 'bun:test';
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CheckpointFile } from '../../base/checkpoint-file.ts';
import { ManualClock } from '../../base/clock.ts';
import { sampleBatch } from '../batch-samples.ts';
import { clickCount } from '../click.ts';
import { newestIn, openImport } from '../edge-import.ts';
import { readBatches } from '../log.ts';
import { createEmbeddedLog, listLogs, readFrames } from './embedded.ts';

const producer = 'edge-0123';
const dayMs = 24 * 60 * 60_000;
let folder: string;
let clock: ManualClock;
let runs: number;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'terse-import-'));
  clock = new ManualClock();
  runs = 0;
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function open(stored = new CheckpointFile(join(folder, 'stored'))) {
  runs += 1;
  const writer = createEmbeddedLog({ folder, producer: `run-${runs}`, clock });
  return openImport({ writer, producer, stored, newestInLog: await newestIn(writer, producer) });
}

async function importClicks(firstSequence: number, clicks: number): Promise<void> {
  const sink = await open();
  await sink.append(
    sampleBatch(
      firstSequence,
      Array.from({ length: clicks }, () => ({ at: clock.now() })),
    ),
  );
  await sink.close();
}

test('clicks are in the log under the name of the edge’s log, which is no living producer', async () => {
  await importClicks(1, 3);
  const stream = createEmbeddedLog({ folder, producer: 'other', clock });
  const [log] = await stream.partitions();
  expect(log).toMatchObject({ producer });
  const [found] = await readBatches(stream, log!.name, 0, 1_000_000);
  expect(found).toMatchObject({ producer, batch: { firstSequence: 1 } });
  expect(await stream.producers()).toEqual([]);
});

test('the next import knows what is stored, on later days too', async () => {
  expect((await open()).stored).toBe(0);
  await importClicks(1, 3);
  expect((await open()).stored).toBe(3);
  clock.advance(dayMs);
  await importClicks(4, 2);
  expect((await open()).stored).toBe(5);
});

test('clicks in the log are not stored again if a crash came before they were recorded as stored', async () => {
  await importClicks(1, 3);
  expect((await open(new CheckpointFile(join(folder, 'another')))).stored).toBe(3);
});

test('what was stored stays known when its days are over', async () => {
  await importClicks(1, 3);
  for (const log of listLogs(folder)) rmSync(join(folder, log));
  expect((await open()).stored).toBe(3);
});

test('half a frame of an import that was killed hides no clicks of the next', async () => {
  await importClicks(1, 3);
  appendFileSync(join(folder, listLogs(folder)[0]!), Buffer.from([1, 2, 3]));
  await importClicks(4, 2);
  const found = listLogs(folder).flatMap(log => readFrames(folder, log, 0, 1_000_000));
  expect(found.map(({ batch }) => [batch.firstSequence, clickCount(batch)])).toEqual([
    [1, 3],
    [4, 2],
  ]);
});
