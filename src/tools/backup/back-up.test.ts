import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { appendFileSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ManualClock } from '../../base/clock.ts';
import { ProcessLock } from '../../engines/sqlite/process-lock.ts';
import { backUp } from './back-up.ts';
import { filesBelow } from './durable-files.ts';
import { type FakeInstallation, fakeInstallation, fakeStart, temporary } from './fake-installation.ts';
import { checkBackup, manifestName, readManifest } from './manifest.ts';

/** These tests sync often, which takes long on a busy disk. */
setDefaultTimeout(60_000);

let installation: FakeInstallation;
let place: string;
let folder: string;
beforeEach(async () => {
  installation = await fakeInstallation();
  place = temporary();
  folder = join(place, 'monday');
});
afterEach(() => {
  for (const each of [place, installation.config.data]) rmSync(each, { recursive: true, force: true });
});

const made = (config: Partial<FakeInstallation['config']> = {}) =>
  backUp({
    config: { ...installation.config, ...config },
    folder,
    clock: new ManualClock(fakeStart),
    tell: () => {},
  });

describe('a backup', () => {
  test('has links, counts and the log of clicks, and nothing that is recreated automatically', async () => {
    const { data } = installation.config;
    writeFileSync(join(data, 'limits.db'), 'not part of a backup');
    mkdirSync(join(data, 'spill'));
    writeFileSync(join(data, 'clicks', 'half.new'), 'not yet whole');
    const manifest = await made();
    expect(filesBelow(folder).sort()).toEqual([
      manifestName,
      'clicks/2026-11-15/before.log',
      'clicks/forgotten',
      'stats.db',
      'terse.db',
    ]);
    expect(readManifest(folder)).toEqual(manifest);
    expect(manifest.startedAt).toBe(fakeStart);
    const [stats, links] = manifest.databases;
    expect([stats?.name, links?.name]).toEqual(['stats.db', 'terse.db']);
    expect(links?.tables.find(({ table }) => table === 'links')?.rows).toBe(200);
    expect(readdirSync(place)).toEqual(['monday']);
  });

  test('can be read by its owner only, because it has the secret and the hashes of keys', async () => {
    await made();
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    for (const name of filesBelow(folder)) expect(statSync(join(folder, name)).mode & 0o077).toBe(0);
  });

  test('is made while the database is open and written to', async () => {
    using server = new Database(join(installation.config.data, 'terse.db'), { readwrite: true });
    server.run('BEGIN IMMEDIATE; INSERT INTO ranges VALUES (8, 0, 5)');
    const manifest = await made();
    server.run('COMMIT');
    expect(manifest.databases[1]?.tables.find(({ table }) => table === 'ranges')?.rows).toBe(1);
  });

  test('holds what is kept here when links are kept elsewhere', async () => {
    const { databases, files } = await made({ links: 'postgres://127.0.0.1/terse' });
    expect(databases.map(({ name }) => name)).toEqual(['stats.db']);
    expect(files).toHaveLength(2);
  });
});

describe('rejected, with nothing left behind', () => {
  test('a name that is taken, by anything', async () => {
    mkdirSync(folder);
    expect(made()).rejects.toThrow(`${folder} already exists: choose another name`);
    expect(readdirSync(place)).toEqual(['monday']);
  });

  test('a folder without an installation, and settings that keep nothing in it', async () => {
    const empty = temporary();
    expect(made({ data: empty })).rejects.toThrow(`there is no Terse installation in ${empty}`);
    const elsewhere = { data: empty, links: 'postgres://127.0.0.1/terse' };
    expect(made(elsewhere)).rejects.toThrow(`nothing is kept in ${empty}`);
    rmSync(empty, { recursive: true, force: true });
    expect(readdirSync(place)).toEqual([]);
  });

  test('a database that is damaged', async () => {
    const path = join(installation.config.data, 'stats.db');
    writeFileSync(path, 'x'.repeat(statSync(path).size));
    expect(made()).rejects.toThrow('not a database');
    expect(readdirSync(place)).toEqual([]);
  });

  test('a second one to the same name while the first is being made', async () => {
    const lock = new ProcessLock(join(`${folder}.unfinished`, 'making.lock'));
    await lock.tryRun(async () => {
      expect(made()).rejects.toThrow(`${folder} is being made by another process`);
    });
    lock.close();
  });
});

test('what an earlier attempt left when it was killed is not in the next one', async () => {
  mkdirSync(join(`${folder}.unfinished`, 'clicks', '2020-01-01'), { recursive: true });
  writeFileSync(join(`${folder}.unfinished`, 'clicks', '2020-01-01', 'left.log'), 'left');
  writeFileSync(join(`${folder}.unfinished`, 'terse.db'), 'half');
  const manifest = await made();
  expect(existsSync(join(folder, 'clicks', '2020-01-01'))).toBe(false);
  checkBackup(folder, manifest);
});

describe('a check finds', () => {
  const check = () => checkBackup(folder, readManifest(folder));

  test('nothing wrong with a complete backup', async () => {
    await made();
    expect(check).not.toThrow();
  });

  test.each(['terse.db', 'stats.db', 'clicks/2026-11-15/before.log', 'clicks/forgotten'])(
    'that %s is missing, longer, or has a byte that differs',
    async name => {
      await made();
      const path = join(folder, name);
      const bytes = new Uint8Array(await Bun.file(path).arrayBuffer());
      appendFileSync(path, 'x');
      expect(check).toThrow(`${path} has ${bytes.length + 1} bytes instead of ${bytes.length}`);
      const last = bytes.length - 1;
      writeFileSync(path, bytes.with(last, bytes[last]! ^ 1));
      expect(check).toThrow(`${path} is not what it was: its checksum differs`);
      rmSync(path);
      expect(check).toThrow(`${path} is missing`);
    },
  );

  test.each([
    ['no manifest', undefined, 'is not a backup: it has no backup.json'],
    ['half a manifest', '{"format":1,"databases":[', 'is damaged, or of a newer Terse'],
    [
      'a manifest of another format',
      '{"format":2,"startedAt":1,"databases":[],"files":[]}',
      'of a newer Terse',
    ],
    [
      'a path that leads out of it',
      '{"format":1,"startedAt":1,"databases":[],"files":[{"path":"clicks/../../etc"}]}',
      'names clicks/../../etc: it is damaged',
    ],
  ])('%s', async (_what, text, words) => {
    await made();
    if (text === undefined) rmSync(join(folder, manifestName));
    else writeFileSync(join(folder, manifestName), text);
    expect(check).toThrow(words);
  });
});
