import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../../../test/kit/until.ts';
import { ManualClock, systemClock } from '../../base/clock.ts';
import { systemRandom } from '../../base/random.ts';
import { openForWriting, withBusyRetry } from '../../engines/sqlite/database.ts';
import { openEmbedded } from '../../stores/embedded.ts';
import { verdictsOf } from './fake-verdicts.ts';
import { examineFolder, examineMachine } from './machine.ts';
import { examineSqlite } from './sqlite.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'terse-doctor-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const settings = { connections: 10_000, workers: 1 };
const limitOf = (files: number | string): string => `Max open files            ${files}    ${files}    files`;
const lookAt = (path: string) => examineFolder(path, systemClock, systemRandom);

describe('the machine', () => {
  test('needs a descriptor for every connection that is allowed', () => {
    const enough = examineMachine(settings, systemClock, limitOf(65_536));
    expect(verdictsOf(enough)).toMatchObject({ 'open files': 'ok', clock: 'ok' });
    const few = examineMachine(settings, systemClock, limitOf(1_024));
    expect(verdictsOf(few)['open files']).toBe('warn');
    expect(few[0]).toMatchObject({
      detail: 'enough for 512 of 10000 connections',
      fix: expect.stringContaining('ulimit -n'),
    });
  });

  test('needs a clock that was set', () => {
    const stopped = examineMachine(settings, new ManualClock(0), undefined);
    expect(verdictsOf(stopped)).toMatchObject({ clock: 'fail' });
  });
});

describe('the data folder', () => {
  test('is written to, and left as it was', async () => {
    chmodSync(folder, 0o700);
    expect(verdictsOf(await lookAt(folder))).toMatchObject({ folder: 'ok', room: expect.any(String) });
    expect(readdirSync(folder)).toEqual([]);
  });

  test('may be missing, and is not made', async () => {
    const findings = await lookAt(join(folder, 'a', 'b'));
    expect(findings[0]).toMatchObject({ verdict: 'ok', detail: expect.stringContaining('first start') });
    expect(readdirSync(folder)).toEqual([]);
  });

  test('is private, and is not a file', async () => {
    chmodSync(folder, 0o755);
    expect((await lookAt(folder))[0]).toMatchObject({ verdict: 'warn', fix: `chmod 700 ${folder}` });
    writeFileSync(join(folder, 'file'), '');
    expect(verdictsOf(await lookAt(join(folder, 'file')))).toEqual({ folder: 'fail' });
  });

  test('should not keep the first admin key', async () => {
    expect(verdictsOf(await lookAt(folder))).not.toHaveProperty('first key');
    writeFileSync(join(folder, 'admin-key'), 'terse_secret');
    const findings = await lookAt(folder);
    expect(verdictsOf(findings)).toMatchObject({ 'first key': 'warn' });
    expect(JSON.stringify(findings)).not.toContain('terse_secret');
  });
});

describe('the embedded database', () => {
  const make = async (): Promise<void> => {
    const { reader, writer } = await openEmbedded(folder);
    await writer.close();
    reader.close();
  };

  test('is ok when it is new, or was not created yet', async () => {
    expect(verdictsOf(examineSqlite(folder))).toEqual({ database: 'ok' });
    await make();
    expect(verdictsOf(examineSqlite(folder))).toEqual({ version: 'ok', schema: 'ok', integrity: 'ok' });
  });

  test('of a newer version is rejected', async () => {
    await make();
    const database = openForWriting(join(folder, 'terse.db'));
    // The process that made it may be about to release it.
    withBusyRetry(() => database.run("UPDATE migrations SET version = 99 WHERE component = 'links'"));
    database.close();
    expect(verdictsOf(examineSqlite(folder))).toMatchObject({ schema: 'fail' });
  });

  test('is reported when it is damaged', async () => {
    await make();
    const path = join(folder, 'terse.db');
    const database = openForWriting(path);
    // It gives up while the thread that made the file has it open.
    const checkpoint = database.query<{ busy: number }, []>('PRAGMA wal_checkpoint(TRUNCATE)');
    await until('the whole file', () => checkpoint.get()?.busy === 0);
    database.close();
    const bytes = new Uint8Array(await Bun.file(path).arrayBuffer());
    bytes.fill(0xff, 2 * 4_096);
    // Elsewhere, because the thread that made the file may be about to close it, and would write into it then.
    const other = join(folder, 'damaged');
    await Bun.write(join(other, 'terse.db'), bytes);
    expect(verdictsOf(examineSqlite(other))).toMatchObject({ integrity: 'fail' });
  });
});
