import { expect, test } from 'bun:test';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { familyOf, isRunning } from '../../../bench/kit/process-family.ts';
import { temporaryFolder } from '../terse-process.ts';
import { until } from '../until.ts';
import { describeWithEngine } from './describe-with-engine.ts';

const goneMaxMs = 30_000;
const hasProc = existsSync('/proc/self/stat');

/** A process that starts a Postgres, runs the given step with it, prints where it is, and waits. */
async function startUser(folder: string, act: string) {
  const script = join(folder, 'user.ts');
  writeFileSync(
    script,
    `import { startPostgres } from ${JSON.stringify(join(import.meta.dir, 'postgres.ts'))};
     const engine = await startPostgres();
     ${act}
     process.stdout.write(String(engine.pid));
     setInterval(() => undefined, 1_000);`,
  );
  const child = Bun.spawn([process.execPath, script], { stdout: 'pipe', stderr: 'inherit', stdin: 'ignore' });
  const { value } = await child.stdout.getReader().read();
  return { child, enginePid: Number(new TextDecoder().decode(value)) };
}

describeWithEngine(
  'postgres',
  'an engine whose test process is killed',
  () => {
    test.skipIf(!hasProc).each([
      ['while it runs', ''],
      ['while it is paused', 'engine.pause();'],
    ])('ends with all it started, and its folder goes, %s', async (_when, act) => {
      const folder = temporaryFolder();
      const { child, enginePid } = await startUser(folder, act);
      const family = familyOf(enginePid);
      const engineFolder = await Bun.$`readlink /proc/${enginePid}/cwd`.text();
      expect(family.length).toBeGreaterThan(1);
      expect(existsSync(engineFolder.trim())).toBe(true);

      child.kill('SIGKILL');
      await until('its end', () => !family.some(isRunning) && !existsSync(engineFolder.trim()), {
        maxMs: goneMaxMs,
      });
      expect(family.filter(isRunning)).toEqual([]);
      expect(existsSync(engineFolder.trim())).toBe(false);
      rmSync(folder, { recursive: true, force: true });
    });
  },
  { own: true },
);
