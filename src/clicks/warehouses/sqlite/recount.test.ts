import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sampleBatch, samplesStart } from '../../batch-samples.ts';
import type { LogBatch } from '../../log.ts';
import { recountConformance } from '../../recount.conformance.ts';
import type { TimeSpan } from '../../replay.ts';
import { openSqliteWarehouse } from './warehouse.ts';

/** Rows are lost, added and changed, in every table that says something about these hours. */
function spoil(path: string, { from, to }: TimeSpan): void {
  const database = new Database(path);
  const within = `start >= ${from} AND start < ${to}`;
  database.run(
    `UPDATE scopes SET clicks = clicks + 11 WHERE id IN (SELECT scope FROM quarters WHERE ${within})`,
  );
  database.run(`DELETE FROM quarters WHERE ${within} AND scope % 2 = 0`);
  database.run(`DELETE FROM minutes WHERE ${within} AND scope % 3 = 0`);
  database.run(`UPDATE minutes SET clicks = clicks + 7 WHERE ${within}`);
  database.run(`UPDATE days SET dimensions = '{"country":{"DE":1}}', clicks = clicks + 5 WHERE ${within}`);
  database.run(`INSERT INTO scopes (name, clicks, bots, last_at) VALUES ('phantom', 3, 0, ${from})`);
  for (const table of ['minutes', 'quarters']) {
    database.run(`
      INSERT INTO ${table} (scope, start, clicks, bots, visitors)
      SELECT id, ${from}, 3, 0, x'' FROM scopes WHERE name = 'phantom'`);
  }
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
      expect(existsSync(`${path}.repair`)).toBe(false);
      await warehouse.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
});

const link = { kind: 'link', code: 'abc' } as const;
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
  const plan = { countFrom: samplesStart + 1, producers: ['dead', 'live'] };
  await warehouse.recountAll(plan, inChunks(batchOf('live')));
  expect((await warehouse.producers()).map(({ producer }) => producer).sort()).toEqual(['dead', 'live']);
});
