import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sampleBatch, samplesStart } from '../../batch-samples.ts';
import type { LogBatch } from '../../log.ts';
import { recountConformance } from '../../recount.conformance.ts';
import type { TimeSpan } from '../../replay.ts';
import { grainMs } from '../../warehouse.ts';
import { countClicks } from './count.ts';
import { RunWriter } from './run-writer.ts';
import { createRun, hoursIn, hoursPerDay, liveRuns, noteClicks, RunCursor, setState } from './runs.ts';
import { openSqliteWarehouse } from './warehouse.ts';

/** Clicks of these hours are lost and invented, and the ledger says something else. */
function spoil(path: string, { from, to }: TimeSpan): void {
  const database = new Database(path, { strict: true });
  const origin = { totalled: false, isInSummaries: false };
  for (const run of liveRuns(database, from - (from % grainMs.day), to)) {
    const copy = createRun(database, { day: run.day, level: 0, state: 'live', singles: true });
    const totals = undefined;
    const writer = new RunWriter({
      database,
      run: copy,
      day: run.day,
      makesSummaries: false,
      rollsOff: false,
      totals,
    });
    const hours = new Float64Array(hoursPerDay);
    for (const cursor = new RunCursor(database, run); cursor.key !== undefined; cursor.moveTo(cursor.to)) {
      const [first, end] = [cursor.endAt(from - run.day - 1), cursor.endAt(to - run.day - 1)];
      for (const [start, stop] of [
        [cursor.from, first],
        [end, cursor.to],
      ] as const) {
        if (start < stop) writer.append(cursor.key, cursor.rows, start, stop, origin);
        hoursIn(cursor.rows.at, start, stop, hours);
      }
    }
    writer.finish();
    noteClicks(database, copy, hours);
    setState(database, [run.id], 'dropped');
  }
  const invented = [
    { at: from, code: 'phantom', ownerId: 'acc_1' },
    { at: from + 1, code: 'link0', ownerId: 'acc_1', country: 'XX' },
  ];
  countClicks(database, [sampleBatch(1, invented)]);
  database.run(`UPDATE ledger SET counted = counted - 1 WHERE hour >= ${from} AND hour < ${to}`);
  database.run(`INSERT INTO ledger VALUES (${from}, 'phantom', 4, 0, 0)`);
  database.close();
}

recountConformance('sqlite', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'terse-repair-'));
  const path = join(folder, 'stats.db');
  const warehouse = openSqliteWarehouse(path);
  return {
    warehouse,
    spoil: async span => spoil(path, span),
    async dispose() {
      await warehouse.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
});

const link = { kind: 'link', code: 'abc', ownerId: 'acc_1' } as const;
const batchOf = (producer: string): LogBatch => ({
  partition: producer,
  from: 0,
  to: 2,
  producer,
  batch: sampleBatch(1, [{ at: samplesStart }, { at: samplesStart + 1 }]),
});
async function* inChunks(...batches: LogBatch[]) {
  for (const batch of batches) yield [batch];
}

test('a producer that was unknown when the rebuild was planned is recounted with the others', async () => {
  const warehouse = openSqliteWarehouse(':memory:');
  await warehouse.apply([batchOf('old'), batchOf('new')]);
  const replay = inChunks(batchOf('old'), batchOf('new'));
  const result = await warehouse.recountAll({ countFrom: 0, producers: ['old'] }, replay);
  expect(result).toEqual({ clicks: 4, duplicates: 0 });
  expect((await warehouse.total(link)).clicks).toBe(4);
});

test('a producer without anything left to read keeps the number that it had', async () => {
  const warehouse = openSqliteWarehouse(':memory:');
  await warehouse.apply([batchOf('dead'), batchOf('live')]);
  const plan = { countFrom: samplesStart - (samplesStart % grainMs.day), producers: ['dead', 'live'] };
  await warehouse.recountAll(plan, inChunks(batchOf('live')));
  expect((await warehouse.producers()).map(({ producer }) => producer).sort()).toEqual(['dead', 'live']);
});
