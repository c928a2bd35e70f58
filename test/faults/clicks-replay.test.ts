/**
 * The log is the source of truth and the warehouse can be rebuilt from it: after a run with a kill in it, the warehouse
 * is deleted under the running server, deleted while it is stopped, and recounted on demand. Every number comes back.
 */
import { expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { createClickedLinks, settledAt, statsAt } from '../kit/click-account.ts';
import { callerOf } from '../kit/client.ts';
import { expectSafe } from '../kit/expect-safe.ts';
import { report } from '../kit/report.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { startTerseProcess, type TerseProcess, temporaryFolder } from '../kit/terse-process.ts';
import { sampleVisits } from '../kit/visit-kinds.ts';
import { sendVisits, VisitTally } from '../kit/visit-load.ts';

const visitCount = scaled(10_000, 200_000);
const linkCount = 4;
const connections = 32;
const addressCount = 500;
const dayMs = 24 * 60 * 60_000;

/** As a trusted proxy would name them, in several countries. */
const addresses = Array.from({ length: addressCount }, (_, index) => {
  const block = ['91.12', '8.8', '133.11', '200.160'][index % 4]!;
  return `${block}.${index % 200}.${1 + (index % 250)}`;
});

const warehouseFiles = ['stats.db', 'stats.db-wal', 'stats.db-shm'];

function deleteWarehouse(dataFolder: string, files: readonly string[] = warehouseFiles): void {
  for (const file of files) rmSync(join(dataFolder, file), { force: true });
}

/** Every number about these links. The range is fixed, so that the passage of time changes nothing. */
async function everyNumber(url: string, codes: readonly string[], to: number): Promise<unknown[]> {
  const questions = [
    { interval: 'minute', timeZone: 'UTC', from: to - dayMs },
    { interval: 'hour', timeZone: 'Asia/Kolkata', from: to - 3 * dayMs },
    { interval: 'day', timeZone: 'Europe/Berlin', from: to - 30 * dayMs },
    { interval: 'day', timeZone: 'UTC', from: to - 30 * dayMs },
  ];
  const paths = [
    ...codes.map(code => `/api/v1/links/${code}/stats?`),
    '/api/v1/stats?',
    '/api/v1/stats?tag=odd&',
    `/api/v1/stats?codes=${codes.join(',')}&`,
  ];
  const answers = [];
  for (const path of paths) {
    for (const { interval, timeZone, from } of questions) {
      const range = `from=${new Date(from).toISOString()}&to=${new Date(to).toISOString()}`;
      const {
        series,
        minutesFrom: _,
        ...rest
      } = await statsAt(url, `${path}interval=${interval}&timeZone=${timeZone}&${range}`);
      // Whether a bucket may still grow depends on the time of the request.
      const buckets = series.map(({ filling: _filling, ...bucket }: { filling: boolean }) => bucket);
      answers.push({ path, interval, timeZone, ...rest, series: buckets });
    }
  }
  return answers;
}

const env = { TERSE_TRUSTED_PROXIES: '127.0.0.1/32' };

/** A run with a kill in the middle, so that the log has more than one producer and a loss. */
async function run(dataFolder: string): Promise<{ terse: TerseProcess; codes: string[] }> {
  const killed = await startTerseProcess({ dataFolder, env });
  const codes = await createClickedLinks(killed.url, linkCount);
  const tally = new VisitTally(sampleVisits({ codes, addresses, visitorsPerAgent: 20 }));
  await sendVisits({ url: killed.url, visits: tally, connections, count: visitCount / 2 });
  await killed.kill();
  const terse = await startTerseProcess({ dataFolder, env });
  await sendVisits({ url: terse.url, visits: tally, connections, count: visitCount / 2 });
  expect(tally.faults).toEqual([]);
  return { terse, codes };
}

test(
  'a warehouse that is deleted or recounted says the same about every link, tag and account',
  async () => {
    const dataFolder = temporaryFolder();
    let { terse, codes } = await run(dataFolder);
    try {
      const to = Date.now() + 60_000;
      const { totals } = await settledAt(terse.url, dataFolder, 1);
      const before = await everyNumber(terse.url, codes, to);
      const expectSame = async (): Promise<void> => {
        expectSafe((await settledAt(terse.url, dataFolder)).totals).toEqual(totals);
        expectSafe(await everyNumber(terse.url, codes, to)).toEqual(before);
      };

      deleteWarehouse(dataFolder, ['stats.db']);
      await expectSame();
      deleteWarehouse(dataFolder);
      await expectSame();

      expect((await callerOf(terse.url)('POST', '/api/v1/reconcile')).status).toBeLessThan(300);
      await expectSame();

      await terse.stop();
      deleteWarehouse(dataFolder);
      terse = await startTerseProcess({ dataFolder, env });
      await expectSame();

      const [link] = before as { totalClicks: number; uniqueVisitors: number }[];
      expect(link!.totalClicks).toBeGreaterThan(0);
      report(
        `${totals.recorded} clicks counted again four times: ${before.length} answers, every number the same ` +
          `(the first link: ${link!.totalClicks} clicks of ${link!.uniqueVisitors} visitors)`,
      );
    } finally {
      await terse.kill();
      rmSync(dataFolder, { recursive: true, force: true });
    }
  },
  heavyTestMaxMs,
);
