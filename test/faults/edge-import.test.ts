/**
 * The import of an edge's log, killed in the middle again and again while Terse counts: every click of the log is in the
 * stream once and counted once.
 */
import { expect, test } from 'bun:test';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { CheckpointFile } from '../../src/base/checkpoint-file.ts';
import { announcedRandom } from '../kit/announced-random.ts';
import { createClickedLinks, loggedClicks, statsAt } from '../kit/click-account.ts';
import { runTerse } from '../kit/command-line.ts';
import { edgeLogOf } from '../kit/edge-log.ts';
import { expectSafe } from '../kit/expect-safe.ts';
import { report } from '../kit/report.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { startTerseProcess } from '../kit/terse-process.ts';
import { until } from '../kit/until.ts';

const clicks = scaled(40_000, 2_000_000);
const kills = scaled(2, 20);
/** Longer than a batch takes to be stored, so that a kill comes anywhere in it. */
const lifeMaxMs = 60;
const main = join(import.meta.dir, '../../src/main.ts');

/** How many clicks are known to be stored. */
function storedIn(dataFolder: string): number {
  const folder = join(dataFolder, 'edge', 'imports');
  const [name] = existsSync(folder) ? readdirSync(folder).filter(file => /^edge-\w+$/.test(file)) : [];
  return name === undefined ? 0 : (new CheckpointFile(join(folder, name)).read() ?? 0);
}

test(
  'an import that is killed is finished by the next, and no click counts twice',
  async () => {
    const random = announcedRandom('imports that are killed');
    const terse = await startTerseProcess();
    const { dataFolder } = terse;
    try {
      const [code] = await createClickedLinks(terse.url, 1);
      const log = join(dataFolder, 'edge.log');
      await Bun.write(log, edgeLogOf({ code: code!, count: clicks }));
      const env = { PATH: process.env.PATH, TERSE_DATA: dataFolder };
      for (let round = 0; round < kills; round += 1) {
        const before = storedIn(dataFolder);
        const command = [process.execPath, main, 'clicks', 'import', log];
        const child = Bun.spawn(command, { env, stdout: 'ignore', stderr: 'inherit' });
        await until('a batch', async () => storedIn(dataFolder) > before || child.exitCode !== null);
        await Bun.sleep(random.float() * lifeMaxMs);
        child.kill('SIGKILL');
        await child.exited;
      }
      const known = storedIn(dataFolder);
      const { stdout, exitCode } = await runTerse(['clicks', 'import', log], { env });
      expect(exitCode).toBe(0);
      expect(stdout).not.toContain(' 0 known already');
      await until('every click to be counted', async () => {
        const { totalClicks } = await statsAt(terse.url, `/api/v1/links/${code}/stats`);
        return totalClicks >= clicks;
      });
      expectSafe((await statsAt(terse.url, `/api/v1/links/${code}/stats`)).totalClicks).toBe(clicks);
      expectSafe(loggedClicks(dataFolder)).toBe(clicks);
      report(
        `${clicks} clicks of a log, ${kills} imports killed, the last began at ${known}: ${clicks} counted`,
      );
    } finally {
      await terse.stop();
      rmSync(dataFolder, { recursive: true, force: true });
    }
  },
  heavyTestMaxMs,
);

test('two imports at once do not get into each other’s way: one of them is refused', async () => {
  const terse = await startTerseProcess();
  const { dataFolder } = terse;
  try {
    const env = { PATH: process.env.PATH, TERSE_DATA: dataFolder };
    // The import waits for the rest of its log.
    const first = Bun.spawn([process.execPath, main, 'clicks', 'import', '-'], {
      env,
      stdin: 'pipe',
      stdout: 'ignore',
      stderr: 'inherit',
    });
    await until('the first to begin', async () => existsSync(join(dataFolder, 'edge', 'imports', 'lock')));
    await until('the second to be refused', async () => {
      const { exitCode, stderr } = await runTerse(['clicks', 'import', '-'], { env });
      return exitCode === 1 && stderr.includes('another import is under way in this data folder');
    });
    first.stdin.end();
    expect(await first.exited).toBe(0);
    expect((await runTerse(['clicks', 'import', '-'], { env })).exitCode).toBe(0);
  } finally {
    await terse.stop();
    rmSync(dataFolder, { recursive: true, force: true });
  }
});
