/**
 * Backups of a server under load, and kills during backups and restores. Every link with a 201 before a backup began is
 * in it; a restore has exactly the state of that moment; no code that was issued later is issued again; and a kill
 * leaves a complete backup or none. A failing run names its seed.
 */
import { expect, test } from 'bun:test';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { inParallel } from '../../src/base/in-parallel.ts';
import { checkBackup, readManifest } from '../../src/tools/backup/manifest.ts';
import { announcedRandom } from '../kit/announced-random.ts';
import { callerOf } from '../kit/client.ts';
import { damageIn, rowsOf } from '../kit/database-file.ts';
import { expectSafe } from '../kit/expect-safe.ts';
import { follow } from '../kit/follow.ts';
import { report } from '../kit/report.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { startTerseProcess, type TerseProcess, temporaryFolder } from '../kit/terse-process.ts';

const linksFirst = scaled(10_000, 200_000);
const creatorCount = 16;
const killCount = scaled(4, 30);
const killAfterMaxMs = scaled(700, 5_000);
const bulkSize = 10_000;
/** More codes than a process keeps available, so that some come from leases that the backup does not contain. */
const linksLost = 15_000;
const linksAfter = 2_000;

interface Made {
  readonly code: string;
  readonly longUrl: string;
}

const main = join(import.meta.dir, '../../src/main.ts');

function startCommand(dataFolder: string, argv: readonly string[]) {
  const child = Bun.spawn([process.execPath, main, ...argv], {
    env: { PATH: process.env.PATH, TERSE_DATA: dataFolder },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const output = Promise.all([child.stdout.text(), child.stderr.text()]).then(texts => texts.join(''));
  return { child, output };
}

async function run(dataFolder: string, ...argv: string[]): Promise<{ exitCode: number; output: string }> {
  const { child, output } = startCommand(dataFolder, argv);
  return { exitCode: await child.exited, output: await output };
}

async function makeMany(terse: TerseProcess, count: number): Promise<Made[]> {
  const made: Made[] = [];
  for (let at = 0; at < count; at += bulkSize) {
    const links = Array.from({ length: Math.min(bulkSize, count - at) }, (_, n) => ({
      longUrl: `https://example.com/first/${at + n}`,
    }));
    const { body } = await callerOf(terse.url)('POST', '/api/v1/links/bulk', { body: { links } });
    for (const { link } of body.results) made.push({ code: link.shortCode, longUrl: link.longUrl });
  }
  return made;
}

/** Creators, editors and visitors that run until they are stopped. */
function keepBusy(terse: TerseProcess, made: Made[]) {
  const call = callerOf(terse.url);
  let isOver = false;
  let number = 0;
  const creator = async (): Promise<void> => {
    while (!isOver) {
      number += 1;
      const longUrl = `https://example.com/busy/${number}`;
      const alias = number % 4 === 0 ? { customAlias: `busy-${number}` } : {};
      const { status, body } = await call('POST', '/api/v1/links', { body: { longUrl, ...alias } });
      if (status !== 201) throw new Error(`a create was answered with ${status}`);
      made.push({ code: body.shortCode, longUrl });
      await follow(terse.url, body.shortCode);
      if (number % 8 === 0)
        await call('PATCH', `/api/v1/links/${body.shortCode}`, { body: { title: 'Edited' } });
    }
  };
  const creators = Promise.all(Array.from({ length: creatorCount }, creator));
  return async (): Promise<void> => {
    isOver = true;
    await creators;
  };
}

async function lostOf(url: string, links: readonly Made[]): Promise<string[]> {
  const lost: string[] = [];
  await inParallel(links.length, 64, async index => {
    const { code, longUrl } = links[index]!;
    const { status, location } = await follow(url, code);
    if (status !== 302 || location !== longUrl) lost.push(`${code}: ${status} ${location}`);
  });
  return lost.slice(0, 10);
}

test(
  'a backup under load is the server of one moment, and no code of a later moment is given again',
  async () => {
    const [place, restoredData] = [temporaryFolder(), temporaryFolder()];
    const folder = join(place, 'monday');
    // Small leases, so that leases from before the backup do not cover all later links.
    const before = await startTerseProcess({ env: { TERSE_RANGE_SIZE: '1000' } });
    const made = await makeMany(before, linksFirst);
    const stopBusy = keepBusy(before, made);
    let after: TerseProcess | undefined;
    try {
      await Bun.sleep(500);
      const acknowledged = made.length;
      const backup = await run(before.dataFolder, 'backup', folder);
      expect(backup).toMatchObject({ exitCode: 0, output: expect.stringContaining('Verified: ') });
      const madeMeanwhile = made.length - acknowledged;
      await stopBusy();
      made.push(...(await makeMany(before, linksLost)));
      await before.kill();

      // The backup has the first rows of this table, because rows are only added to it.
      const manifest = readManifest(folder);
      const links = manifest.databases
        .find(({ name }) => name === 'terse.db')!
        .tables.find(t => t.table === 'links')!;
      expectSafe(links.rows).toBeGreaterThanOrEqual(acknowledged);
      expectSafe(links.rows).toBeLessThanOrEqual(made.length);
      const codesOf = (data: string) =>
        rowsOf<{ code: string }>(data, `SELECT code FROM links ORDER BY id LIMIT ${links.rows}`);
      const atThatMoment = codesOf(before.dataFolder);

      expect(await run(restoredData, 'restore', folder)).toMatchObject({ exitCode: 0 });
      expectSafe(codesOf(restoredData)).toEqual(atThatMoment);
      expectSafe(damageIn(restoredData)).toEqual([]);
      after = await startTerseProcess({ dataFolder: restoredData });
      expectSafe(await lostOf(after.url, made.slice(0, acknowledged))).toEqual([]);
      const known = new Set(made.map(({ code }) => code));
      const again = (await makeMany(after, linksAfter)).filter(({ code }) => known.has(code));
      expectSafe(again).toEqual([]);
      // A code from after the backup is answered as not found and never leads elsewhere.
      const saved = new Set(atThatMoment.map(({ code }) => code));
      const forgotten = made.filter(({ code }) => !saved.has(code)).slice(-50);
      expect(forgotten).not.toEqual([]);
      for (const { code } of forgotten) expectSafe((await follow(after.url, code)).status).toBe(404);
      expect(await run(restoredData, 'restore', folder)).toMatchObject({
        exitCode: 1,
        output: expect.stringContaining(`a server is running on ${restoredData}`),
      });
      await after.stop();
      report(
        `backup under load: ${acknowledged.toLocaleString('en')} links before it, ${madeMeanwhile} made meanwhile, ` +
          `${links.rows.toLocaleString('en')} in it, 0 missing; ${linksAfter} codes after the restore, 0 given before`,
      );
    } finally {
      await stopBusy().catch(() => undefined);
      await before.kill();
      await after?.kill();
      for (const each of [place, restoredData, before.dataFolder])
        rmSync(each, { recursive: true, force: true });
    }
  },
  heavyTestMaxMs,
);

test(
  'a kill -9 in the middle of a backup or a restore leaves nothing half, and running it again finishes',
  async () => {
    const random = announcedRandom('backup killed');
    const place = temporaryFolder();
    const server = await startTerseProcess();
    try {
      await makeMany(server, linksFirst);
      const ended = { backups: 0, restores: 0 };
      for (let round = 0; round < killCount; round += 1) {
        const folder = join(place, `backup-${round}`);
        const making = startCommand(server.dataFolder, ['backup', folder]);
        await Promise.race([Bun.sleep(random.float() * killAfterMaxMs), making.child.exited]);
        making.child.kill('SIGKILL');
        await making.child.exited;
        if (existsSync(folder)) ended.backups += 1;
        else expect(await run(server.dataFolder, 'backup', folder)).toMatchObject({ exitCode: 0 });
        checkBackup(folder, readManifest(folder));
        expect(existsSync(`${folder}.unfinished`)).toBe(false);

        const data = join(place, `data-${round}`);
        const restoring = startCommand(data, ['restore', folder]);
        await Promise.race([Bun.sleep(random.float() * killAfterMaxMs), restoring.child.exited]);
        restoring.child.kill('SIGKILL');
        await restoring.child.exited;
        const isHalf =
          existsSync(data) && readdirSync(data).some(name => /^restore\.(?:filling|complete)$/.test(name));
        const hasLinks = existsSync(join(data, 'terse.db'));
        if (isHalf) {
          const refused = await run(data, 'serve', '--port', '0');
          expect(refused).toMatchObject({
            exitCode: 2,
            output: expect.stringContaining('run `terse restore` again'),
          });
        }
        if (hasLinks && !isHalf) ended.restores += 1;
        else expect(await run(data, 'restore', folder)).toMatchObject({ exitCode: 0 });
        expectSafe(damageIn(data)).toEqual([]);
        expectSafe(rowsOf(data, 'SELECT count(*) AS count FROM links')).toEqual([{ count: linksFirst }]);
        for (const each of [folder, data]) rmSync(each, { recursive: true, force: true });
      }
      report(
        `${killCount} kills of each: ${ended.backups} backups and ${ended.restores} restores had ended before, ` +
          'the others were restarted or finished; 0 half',
      );
    } finally {
      await server.kill();
      for (const each of [place, server.dataFolder]) rmSync(each, { recursive: true, force: true });
    }
  },
  heavyTestMaxMs,
);
