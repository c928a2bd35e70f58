import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sampleBatch, samplesStart } from '../../batch-samples.ts';
import type { Warehouse } from '../../warehouse.ts';
import { inodeOf, isDamage, openWarehouseFile } from './file.ts';

describe('the file of the warehouse', () => {
  let folder: string;
  let path: string;
  const opened: Warehouse[] = [];
  const dayMs = 24 * 60 * 60_000;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'terse-file-'));
    path = join(folder, 'stats.db');
  });
  afterEach(async () => {
    for (const warehouse of opened.splice(0)) await warehouse.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const open = (now = samplesStart, damaged?: number): Warehouse => {
    const warehouse = openWarehouseFile(path, now, damaged);
    opened.push(warehouse);
    return warehouse;
  };
  const count = (warehouse: Warehouse, clicks: number) => {
    const batch = sampleBatch(1, Array(clicks).fill({ at: samplesStart }));
    return warehouse.apply([{ partition: 'p', from: 0, to: 1, producer: 'p', batch }]);
  };
  const totalOf = async (warehouse: Warehouse) =>
    (await warehouse.total({ kind: 'link', code: 'abc', ownerId: 'acc_1' })).clicks;
  const setAside = () =>
    readdirSync(folder)
      .filter(name => name.includes('.broken-'))
      .sort();

  test('is made where there is none, and opened where there is one', async () => {
    await count(open(), 3);
    expect(await totalOf(open())).toBe(3);
    expect(setAside()).toEqual([]);
  });

  test('that is garbage is set aside under a name with the time, and a new one is made', async () => {
    writeFileSync(path, 'no database at all '.repeat(1_000));
    expect(await totalOf(open())).toBe(0);
    expect(setAside()).toEqual(['stats.db.broken-2026-06-01T12-00-00.000Z']);
  });

  test('that was found damaged in use is set aside, but not the one that has replaced it', async () => {
    await count(open(), 3);
    const damaged = inodeOf(path)!;
    expect(await totalOf(open(samplesStart, damaged))).toBe(0);
    await count(open(), 2);
    expect(await totalOf(open(samplesStart + 1, damaged))).toBe(2);
    expect(setAside()).toHaveLength(1);
  });

  test('that is set aside again and again fills no disk: the newest few are kept', () => {
    for (let day = 0; day < 5; day += 1) open(samplesStart + day * dayMs, inodeOf(path));
    expect(setAside().map(name => name.slice('stats.db.broken-'.length, -14))).toEqual([
      '2026-06-03',
      '2026-06-04',
      '2026-06-05',
    ]);
  });

  test('that is new shares nothing with one that was deleted while it was in use', async () => {
    const before = open();
    await count(before, 3);
    rmSync(path);
    const after = open();
    expect(await totalOf(after)).toBe(0);
    await count(after, 2);
    expect([await totalOf(before), await totalOf(after), await totalOf(open())]).toEqual([3, 2, 2]);
  });

  test('of a newer version is refused and left where it is', () => {
    open();
    const database = new Database(path);
    database.run('UPDATE migrations SET version = version + 1');
    database.close();
    expect(() => open()).toThrow('newer');
    expect(setAside()).toEqual([]);
  });

  test('is damaged by what SQLite calls damage, and not by a lock or a full disk', () => {
    const failure = (code: string) => Object.assign(new Error('x'), { code });
    expect(['SQLITE_NOTADB', 'SQLITE_CORRUPT', 'SQLITE_CORRUPT_INDEX'].map(failure).every(isDamage)).toBe(
      true,
    );
    expect(['SQLITE_BUSY', 'SQLITE_FULL', 'SQLITE_IOERR'].map(failure).some(isDamage)).toBe(false);
  });

  test('counts that no longer make sense are damage, like a file that is no database', async () => {
    await count(open(), 3);
    const database = new Database(path);
    database.run("UPDATE chunks SET links = x'01ffff', lists = x'01ffff'");
    database.close();
    const [warehouse] = opened;
    const plan = { now: samplesStart + 5 * dayMs, singlesFrom: 0, minutesFrom: 0, rowsMax: 100 };
    const failure = await warehouse!.maintain(plan).then(
      () => undefined,
      error => error,
    );
    expect(isDamage(failure)).toBe(true);
  });
});
