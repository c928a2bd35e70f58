import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate } from '../../../engines/sqlite/migrations.ts';
import { samplesStart } from '../../batch-samples.ts';
import { partition } from '../../fake-warehouse-truth.ts';
import { SpanReplay } from '../../replay.ts';
import { Sketch } from '../../sketch/sketch.ts';
import { warehouseConformance } from '../../warehouse.conformance.ts';
import { alone, grainMs, type Warehouse } from '../../warehouse.ts';
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

describe('what an earlier version counted', () => {
  const day = Math.floor(samplesStart / grainMs.day) * grainMs.day;
  const [code, ownerId] = ['abc', 'acc_1'];
  const link = { kind: 'link', code, ownerId } as const;
  let folder: string;
  let path: string;

  /** Six clicks of a link on the day, which are what the log has of it; its clicks before were deleted. */
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'terse-legacy-'));
    path = join(folder, 'stats.db');
    const database = new Database(path, { create: true });
    migrate(database, { ...warehouseMigrations, steps: warehouseMigrations.steps.slice(0, 4) });
    database.run(`INSERT INTO scopes VALUES (1, '${code}', 6, 0, ${samplesStart}, 0, '${ownerId}')`);
    const visitors = new Sketch().toBytes();
    database.query('INSERT INTO quarters VALUES (1, ?, 6, 0, ?, 0)').run(samplesStart, visitors);
    database.query("INSERT INTO days VALUES (1, ?, 6, 0, ?, '{}', 0)").run(day, visitors);
    database.run(`INSERT INTO ledger VALUES (${samplesStart}, 'p', 6, 0, 0)`);
    database.run("INSERT INTO producers VALUES ('p', 6)");
    database.run("INSERT INTO positions VALUES ('p', 6)");
    database.run(`INSERT INTO forgotten VALUES ('${code}', ${samplesStart - 1})`);
    database.close();
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const [batch] = partition(
    'p',
    Array.from({ length: 6 }, (_, n) => ({ at: samplesStart + n, code, ownerId })),
    6,
  );
  const replayOf = (onRead = async (): Promise<void> => {}) =>
    new SpanReplay(
      {
        isOwn: () => true,
        retention: async () => ({ begunAt: 0, keptSince: 0 }),
        offsetsAt: async () => new Map([['p', 0]]),
        async read() {
          await onRead();
          const piece = {
            items: [{ offset: 0, storedAt: day, producer: 'p', batch: batch!.batch }],
            to: 6,
            end: 6,
          };
          return new Map([['p', piece]]);
        },
      },
      { from: day, to: day + grainMs.day },
    );
  const expectSix = async (warehouse: Warehouse): Promise<void> => {
    const range = { from: day, to: day + grainMs.day };
    const question = { scopes: [link], ...range, starts: [], filters: [], breakdowns: [] };
    expect((await warehouse.answer(question)).counts.clicks).toBe(6);
    expect((await warehouse.total(link)).clicks).toBe(6);
    const ranking = { ownerId, order: 'most', after: undefined, limit: 10, codes: undefined } as const;
    expect(await warehouse.ranking(ranking)).toEqual([{ code, clicks: 6 }]);
  };

  test('counts for a link whose clicks were deleted before that, and after its recount', async () => {
    const warehouse = openSqliteWarehouse(path);
    await expectSix(warehouse);
    await warehouse.recountDays(replayOf(), alone);
    expect(await warehouse.state!()).toMatchObject({ legacyUntil: 0 });
    await expectSix(warehouse);
    await warehouse.forget(code, samplesStart + 6);
    expect((await warehouse.total(link)).clicks).toBe(0);
    await warehouse.close();
  });

  test('is recounted once, also by two processes', async () => {
    const [one, other] = [openSqliteWarehouse(path), openSqliteWarehouse(path)];
    await one.recountDays(
      replayOf(() => other.recountDays(replayOf(), alone)),
      alone,
    );
    const database = new Database(path);
    const runs = database.query('SELECT state FROM runs WHERE day >= 0 ORDER BY state').all();
    expect(runs).toEqual([{ state: 'dropped' }, { state: 'live' }]);
    expect(database.query("SELECT id FROM runs WHERE state = 'live'").get()).toEqual({ id: 1 });
    database.close();
    await expectSix(one);
    await Promise.all([one.close(), other.close()]);
  });
});
