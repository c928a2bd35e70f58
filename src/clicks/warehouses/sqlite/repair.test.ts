import { Database } from 'bun:sqlite';
import { expect } from 'bun:test';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { repairConformance } from '../../repair.conformance.ts';
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

repairConformance('sqlite', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'terse-repair-'));
  const path = join(folder, 'stats.db');
  const warehouse = openSqliteWarehouse(path);
  return {
    warehouse,
    spoil: async span => spoil(path, span),
    async dispose() {
      expect(existsSync(`${path}.repair`)).toBe(false);
      await warehouse.close();
      rmSync(folder, { recursive: true });
    },
  };
});
