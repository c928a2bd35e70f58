/** A full disk while clicks are counted, merged or rolled off: nothing counts twice, and it recovers by itself. */
import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expectSafe } from '../kit/expect-safe.ts';
import { report } from '../kit/report.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { testSeed } from '../kit/seed.ts';
import { temporaryFolder } from '../kit/terse-process.ts';
import { type FullDiskResult, phases } from './warehouse-full-disk-worker.ts';

const runs = scaled(1, 20);

test.skipIf(Bun.which('prlimit') === null).each(phases)(
  'a disk that is full during %s changes no answer, then and later (needs prlimit)',
  async phase => {
    let [failures, successes] = [0, 0];
    for (let run = 0; run < runs; run += 1) {
      const folder = temporaryFolder();
      try {
        const seed = String(testSeed + run);
        const script = join(import.meta.dir, 'warehouse-full-disk-worker.ts');
        const child = Bun.spawn([process.execPath, script, folder, phase, seed], {
          stdout: 'pipe',
          stderr: 'inherit',
          stdin: 'ignore',
        });
        const printed = await child.stdout.text();
        expect([await child.exited, seed]).toEqual([0, seed]);
        const result = JSON.parse(printed) as FullDiskResult;
        expectSafe(result.wrong, `seed ${seed}`).toEqual([]);
        expect(result.left).toBe(0);
        failures += result.failures;
        successes += result.successes;
        const database = new Database(join(folder, 'stats.db'));
        expectSafe(database.query('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }]);
        database.close();
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    }
    expect(failures).toBeGreaterThan(0);
    report(`disk full during ${phase}: ${failures} calls failed, ${successes} succeeded, every answer right`);
  },
  heavyTestMaxMs,
);
