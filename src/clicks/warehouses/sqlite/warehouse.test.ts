import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate } from '../../../engines/sqlite/migrations.ts';
import { warehouseConformance } from '../../warehouse.conformance.ts';
import { warehouseMigrations } from './schema.ts';
import { openSqliteWarehouse } from './warehouse.ts';

warehouseConformance('sqlite', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'terse-warehouse-'));
  const open = () => openSqliteWarehouse(join(folder, 'stats.db'));
  const warehouse = open();
  return {
    warehouse,
    reopen: open,
    async dispose() {
      await warehouse.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
});

test('links that were counted before owners were noted are ranked after the upgrade', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'terse-warehouse-'));
  const path = join(folder, 'stats.db');
  const database = new Database(path, { create: true });
  migrate(database, { ...warehouseMigrations, steps: warehouseMigrations.steps.slice(0, 3) });
  database.run(`
    INSERT INTO scopes (id, name, clicks, bots, last_at) VALUES
      (1, 'a', 3, 0, 0), (2, 'b', 5, 0, 0), (3, 'foreign', 9, 0, 0), (4, 'nobodys', 2, 0, 0),
      (5, 'owner:acc_1', 8, 0, 0), (6, 'owner:acc_2', 9, 0, 0), (7, 'tag:acc_2:x', 9, 0, 0)`);
  const listed = [
    [5, 0, '{"link":{"a":3,"b":4,"(other)":7},"country":{"DE":8}}'],
    [5, 1, '{"link":{"b":1}}'],
    [6, 0, '{"link":{"foreign":9}}'],
    [7, 0, '{"link":{"foreign":9}}'],
  ] as const;
  for (const row of listed) database.query("INSERT INTO days VALUES (?, ?, 1, 0, x'', ?, 0)").run(...row);
  database.close();
  const warehouse = openSqliteWarehouse(path);
  const ranking = (ownerId: string) =>
    warehouse.ranking({ ownerId, order: 'most', after: undefined, limit: 10, codes: undefined });
  expect(await ranking('acc_1')).toEqual([]);
  // An owner at a time.
  const plan = { now: 0, singlesFrom: 0, minutesFrom: 0, rowsMax: 100 };
  expect([await warehouse.maintain(plan), await warehouse.maintain(plan)]).toEqual([1, 1]);
  expect(await warehouse.maintain(plan)).toBe(0);
  expect(await ranking('acc_1')).toEqual([
    { code: 'b', clicks: 5 },
    { code: 'a', clicks: 3 },
  ]);
  expect(await ranking('acc_2')).toEqual([{ code: 'foreign', clicks: 9 }]);
  await warehouse.close();
  rmSync(folder, { recursive: true, force: true });
});
