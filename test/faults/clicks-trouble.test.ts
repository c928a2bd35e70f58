/**
 * The warehouse is locked, deleted or replaced by garbage, or the disk is full. Visitors are still redirected, and
 * afterwards every visit was counted or reported as lost.
 */
import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { listLogs } from '../../src/clicks/logs/embedded.ts';
import { createClickedLinks, settledAt, statsAt } from '../kit/click-account.ts';
import { expectSafe } from '../kit/expect-safe.ts';
import { report } from '../kit/report.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { startTerseProcess, type TerseProcess } from '../kit/terse-process.ts';
import { until } from '../kit/until.ts';
import { sampleVisits } from '../kit/visit-kinds.ts';
import { sendVisits, VisitTally } from '../kit/visit-load.ts';

const troubleMs = scaled(1_500, 12_000);
const calmMs = 600;
const connections = 16;

let terse: TerseProcess;
let tally: VisitTally;
let codes: string[];
const warehousePath = (): string => join(terse.dataFolder, 'stats.db');

beforeEach(async () => {
  // Failures are expected here, so nothing is logged.
  terse = await startTerseProcess({ env: { TERSE_LOG_LEVEL: 'silent' } });
  codes = await createClickedLinks(terse.url, 4);
  tally = new VisitTally(sampleVisits({ codes }));
});

afterEach(async () => {
  await terse.stop();
});

/** Sends visits before, during and after the failure, and checks that visitors do not notice it. */
async function visitDuring(what: string, trouble: () => Promise<void>): Promise<void> {
  let ended = false;
  const load = (async () => {
    while (!ended) await sendVisits({ url: terse.url, visits: tally, connections, count: 2_000 });
  })();
  await Bun.sleep(calmMs);
  const before = tally.answeredCount();
  await trouble();
  const during = tally.answeredCount() - before;
  await Bun.sleep(calmMs);
  ended = true;
  await load;
  expect(tally.faults).toEqual([]);
  expect(tally.unansweredCount()).toBe(0);
  expect(during).toBeGreaterThan(0);

  const sent = tally.answeredCount();
  const { totals } = await settledAt(terse.url, terse.dataFolder);
  expectSafe(totals.produced).toBe(sent);
  expectSafe(totals.recorded + totals.dropped + totals.missing).toBe(sent);
  const stats = await statsAt(terse.url, '/api/v1/stats');
  expectSafe(stats.totalClicks + stats.botClicks).toBe(totals.recorded);
  report(
    `${what}: ${during} visits meanwhile, all redirected; of ${sent} in all ${totals.recorded} counted, ` +
      `${totals.dropped} dropped, ${totals.missing} missing`,
  );
}

test(
  'while another process holds the lock of the warehouse, clicks go to the log and are counted afterwards',
  async () => {
    await visitDuring('warehouse locked', async () => {
      const lock = new Database(warehousePath());
      lock.run('PRAGMA busy_timeout = 5000');
      lock.run('BEGIN IMMEDIATE');
      await Bun.sleep(troubleMs);
      lock.run('COMMIT');
      lock.close();
    });
  },
  heavyTestMaxMs,
);

test(
  'a warehouse that is deleted is rebuilt from the log, also while it is being queried',
  async () => {
    await statsAt(terse.url, '/api/v1/stats');
    await visitDuring('warehouse deleted', async () => {
      rmSync(warehousePath());
      await Bun.sleep(troubleMs);
      for (const suffix of ['', '-wal', '-shm']) rmSync(warehousePath() + suffix, { force: true });
      await Bun.sleep(troubleMs);
    });
  },
  heavyTestMaxMs,
);

/** Names of warehouses that were set aside because they could not be read. */
const setAside = (): string[] => readdirSync(terse.dataFolder).filter(name => name.includes('.broken-'));

const garbage = Buffer.alloc(64 * 1024, 'this is no database ');

test(
  'a warehouse that is replaced by garbage is set aside and rebuilt from the log',
  async () => {
    await visitDuring('warehouse replaced', async () => {
      // Repeated if a commit came between the two steps, see below.
      await until(
        'the damage to be seen',
        () => {
          if (setAside().length > 0) return true;
          for (const suffix of ['-wal', '-shm']) rmSync(warehousePath() + suffix, { force: true });
          writeFileSync(`${warehousePath()}.garbage`, garbage);
          renameSync(`${warehousePath()}.garbage`, warehousePath());
          return false;
        },
        { everyMs: troubleMs },
      );
    });
    expect(setAside()).not.toEqual([]);
    expect(statSync(join(terse.dataFolder, setAside()[0]!)).size).toBe(garbage.length);
  },
  heavyTestMaxMs,
);

test(
  'a warehouse that is overwritten in place is set aside and rebuilt from the log',
  async () => {
    await visitDuring('warehouse overwritten', async () => {
      // Repeated if a commit came between the two steps: then SQLite restores everything that matters from its log.
      await until(
        'the damage to be seen',
        () => {
          if (setAside().length > 0) return true;
          const checkpoint = new Database(warehousePath());
          checkpoint.run('PRAGMA busy_timeout = 5000');
          checkpoint.run('PRAGMA wal_checkpoint(TRUNCATE)');
          checkpoint.close();
          writeFileSync(warehousePath(), garbage);
          return false;
        },
        { everyMs: troubleMs },
      );
    });
  },
  heavyTestMaxMs,
);

/** Files of the running process may not grow past this; undefined lifts the limit. */
function limitFileSize(maxBytes: number | undefined): void {
  const limit = `--fsize=${maxBytes ?? 'unlimited'}:`;
  const { exitCode, stderr } = Bun.spawnSync(['prlimit', '--pid', String(terse.pid), limit]);
  if (exitCode !== 0) throw new Error(`prlimit failed: ${stderr}`);
}

test.skipIf(Bun.which('prlimit') === null)(
  'while the disk takes nothing more, clicks wait, and what does not fit anywhere is counted as lost (needs prlimit)',
  async () => {
    await visitDuring('disk full', async () => {
      // A little more than the current size, so that the disk becomes full in the middle of a write.
      const logs = join(terse.dataFolder, 'clicks');
      await until('a log of clicks', () => listLogs(logs).length > 0);
      const bytes = listLogs(logs).map(log => statSync(join(logs, log)).size);
      limitFileSize(Math.max(...bytes) + 10_000);
      await Bun.sleep(troubleMs);
      limitFileSize(undefined);
    });
  },
  heavyTestMaxMs,
);
