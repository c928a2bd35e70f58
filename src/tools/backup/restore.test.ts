import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ManualClock } from '../../base/clock.ts';
import { partitionsBehind, readBatches } from '../../clicks/log.ts';
import { createEmbeddedLog } from '../../clicks/logs/embedded.ts';
import { openSqliteWarehouse } from '../../clicks/warehouses/sqlite/warehouse.ts';
import { openForWriting } from '../../engines/sqlite/database.ts';
import { damageOf } from '../../engines/sqlite/snapshot.ts';
import { completeFolder, fillingFolder, requireWholeFolder } from '../../stores/await-store.ts';
import { backUp } from './back-up.ts';
import { filesBelow } from './durable-files.ts';
import { type FakeInstallation, fakeInstallation, fakeStart, temporary } from './fake-installation.ts';
import type { Manifest } from './manifest.ts';
import { restore } from './restore.ts';

/** These tests sync often, which takes long on a busy disk. */
setDefaultTimeout(60_000);

let installation: FakeInstallation;
let place: string;
let folder: string;
let data: string;
let manifest: Manifest;
beforeEach(async () => {
  installation = await fakeInstallation();
  place = temporary();
  folder = join(place, 'monday');
  data = join(place, 'data');
  const clock = new ManualClock(fakeStart);
  manifest = await backUp({ config: installation.config, folder, clock, tell: () => {} });
});
afterEach(() => {
  for (const each of [place, installation.config.data]) rmSync(each, { recursive: true, force: true });
});

const hourMs = 60 * 60_000;
const restored = (
  config: Partial<FakeInstallation['config']> = {},
  { margin, laterMs = 0 }: { margin?: number; laterMs?: number } = {},
) =>
  restore({
    config: { ...installation.config, data, ...config },
    folder,
    margin,
    clock: new ManualClock(fakeStart + laterMs),
    tell: () => {},
  });

function marksIn(folderOfData: string): unknown[] {
  using database = new Database(join(folderOfData, 'terse.db'), { readwrite: true });
  return database.query('SELECT length, mark FROM ranges ORDER BY length').all();
}

describe('a restore', () => {
  test('brings everything back as it was but the marks', async () => {
    await restored();
    expect(readdirSync(data).sort()).toEqual(['clicks', 'stats.db', 'terse.db']);
    for (const { path } of manifest.files) {
      const [was, is] = [installation.config.data, data].map(each => Bun.file(join(each, path)).bytes());
      expect(await is).toEqual((await was)!);
    }
    for (const { name, tables } of manifest.databases) {
      const others = tables.filter(({ table }) => table !== 'ranges');
      expect(damageOf(join(data, name), others)).toBeOneOf([
        undefined,
        'there are tables that were not there',
      ]);
    }
  });

  test('lets counting resume where it was: counted clicks stay, the others are counted', async () => {
    await restored();
    const stream = createEmbeddedLog({
      folder: join(data, 'clicks'),
      producer: 'after',
      clock: new ManualClock(fakeStart),
    });
    const warehouse = openSqliteWarehouse(join(data, 'stats.db'));
    const [behind] = await partitionsBehind(stream, await warehouse.positions());
    expect(behind?.name).toBe('2026-11-15/before.log');
    const position = (await warehouse.positions()).get('2026-11-15/before.log')!;
    await warehouse.apply(await readBatches(stream, '2026-11-15/before.log', position, 1_000_000));
    expect((await warehouse.total({ kind: 'link', code: 'code1', ownerId: 'acc_1' })).clicks).toBe(40);
    expect((await stream.forgotten()).get('code2')).toBe(fakeStart);
    await warehouse.close();
    await stream.close();
  });

  test('skips ten million ids, or 20,000 for each second since the backup, or as many as are said', async () => {
    const { marks } = await restored();
    expect(marks).toEqual([{ length: 7, first: 0, before: 20_000, after: 10_020_000 }]);
    expect(marksIn(data)).toEqual([{ length: 7, mark: 10_020_000 }]);
    rmSync(data, { recursive: true, force: true });
    await restored({}, { laterMs: hourMs });
    expect(marksIn(data)).toEqual([{ length: 7, mark: 72_020_000 }]);
    rmSync(data, { recursive: true, force: true });
    await restored({}, { margin: 5, laterMs: hourMs });
    expect(marksIn(data)).toEqual([{ length: 7, mark: 20_005 }]);
    rmSync(data, { recursive: true, force: true });
    // A clock that was set back does not shrink the margin.
    await restored({}, { laterMs: -hourMs });
    expect(marksIn(data)).toEqual([{ length: 7, mark: 10_020_000 }]);
  });

  test('skips ids of a length, too, that came into use after the backup', async () => {
    await restored({ codeLength: 8 });
    expect(marksIn(data)).toEqual([
      { length: 7, mark: 10_020_000 },
      { length: 8, mark: 10_000_000 },
    ]);
  });

  test('goes into a folder that is there, beside what does not belong to an installation', async () => {
    mkdirSync(data);
    writeFileSync(join(data, 'lost+found'), '');
    await restored();
    expect(readdirSync(data)).toContain('lost+found');
    expect(existsSync(join(data, 'terse.db'))).toBe(true);
  });
});

describe('rejected, and nothing changes', () => {
  const unchanged = async (attempt: () => Promise<unknown>, words: string): Promise<void> => {
    const before = existsSync(data) ? filesBelow(data) : [];
    await expect(attempt()).rejects.toThrow(words);
    const after = existsSync(data) ? filesBelow(data) : [];
    expect(after).toEqual(before);
  };

  test.each(['terse.db', 'stats.db', 'clicks/forgotten'])('a folder that has %s', async name => {
    mkdirSync(join(data, 'clicks'), { recursive: true });
    if (name.endsWith('.db')) {
      rmSync(join(data, 'clicks'), { recursive: true, force: true });
      openForWriting(join(data, name)).close();
    } else writeFileSync(join(data, name), '');
    await unchanged(
      restored,
      `${data} has an installation already (${name.split('/')[0]}): move it elsewhere first`,
    );
  });

  test('settings that keep links elsewhere', async () => {
    await unchanged(
      () => restored({ links: 'postgres://127.0.0.1/terse' }),
      'TERSE_LINKS names another store',
    );
  });

  test('a backup of which anything is damaged or missing', async () => {
    const log = join(folder, 'clicks/2026-11-15/before.log');
    const bytes = await Bun.file(log).bytes();
    writeFileSync(log, bytes.with(20, bytes[20]! ^ 1));
    await unchanged(restored, `${log} is not what it was: its checksum differs`);
    rmSync(log);
    await unchanged(restored, 'ENOENT');
    rmSync(join(folder, 'backup.json'));
    await unchanged(restored, `${folder} is not a backup`);
  });

  test('a margin that would take most of the codes that are left, unless it was chosen', async () => {
    // A third of all codes with six characters.
    const tooLateMs = 10 * 24 * hourMs;
    await unchanged(
      () => restored({ codeLength: 6 }, { laterMs: tooLateMs }),
      'say with --margin how many links may have been made since the backup',
    );
    await restored({ codeLength: 6 }, { margin: 10_000_000_000, laterMs: tooLateMs });
    expect(marksIn(data)).toContainEqual({ length: 6, mark: 10_000_000_000 });
  });
});

describe('an interrupted restore', () => {
  test('while it filled its folder: no server starts, and the next restore starts over', async () => {
    mkdirSync(join(fillingFolder(data), 'clicks'), { recursive: true });
    writeFileSync(join(fillingFolder(data), 'terse.db'), 'half');
    writeFileSync(join(fillingFolder(data), 'clicks', 'left.log'), 'left');
    expect(() => requireWholeFolder(data)).toThrow(`a backup is being restored into ${data}`);
    expect((await restored()).marks).toHaveLength(1);
    expect(() => requireWholeFolder(data)).not.toThrow();
    expect(filesBelow(data)).not.toContain('clicks/left.log');
  });

  test.each([0, 1, 2])(
    'after %p of its names were moved: no server starts, and the next one moves the rest',
    async moved => {
      await restored();
      const complete = completeFolder(data);
      mkdirSync(complete);
      const names = ['terse.db', 'stats.db', 'clicks'].slice(0, 3 - moved);
      for (const name of names) renameSync(join(data, name), join(complete, name));
      const before = moved < 3 ? marksOf(complete) : [];
      expect(() => requireWholeFolder(data)).toThrow('run `terse restore` again');
      expect((await restored()).marks).toBeUndefined();
      expect(readdirSync(data).sort()).toEqual(['clicks', 'stats.db', 'terse.db']);
      // They were raised before, and are not raised twice.
      expect(marksIn(data)).toEqual(before);
      expect(() => requireWholeFolder(data)).not.toThrow();
    },
  );

  const marksOf = (complete: string): unknown[] => marksIn(complete);
});

test('a whole folder, or none at all, stops no server', () => {
  expect(() => requireWholeFolder(installation.config.data)).not.toThrow();
  expect(() => requireWholeFolder(join(place, 'nowhere'))).not.toThrow();
});
