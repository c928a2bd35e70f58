/**
 * The kill switch across machines: processes that share nothing but Postgres and Redis. Messages over Redis make it
 * quick; when they are all lost, the feed of the store makes up for them.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { inParallel } from '../../src/base/in-parallel.ts';
import { callerOf } from '../kit/client.ts';
import { describeWithEngine } from '../kit/engines/describe-with-engine.ts';
import { sharedPostgres } from '../kit/engines/postgres.ts';
import { type RedisEngine, startRedis } from '../kit/engines/redis.ts';
import { askRedis } from '../kit/engines/redis-question.ts';
import { follow, metricOf } from '../kit/follow.ts';
import { killAndWatch, makeVictims, summaryOf } from '../kit/kills.ts';
import { report } from '../kit/report.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { startTerseProcess, type TerseProcess } from '../kit/terse-process.ts';

const processCount = scaled(2, 4);
const killCount = scaled(40, 1_000);
const missedCount = scaled(10, 100);
const missedAtOnce = 10;
/** Beyond this, something is broken rather than slow; and the promised bound when every message is lost. */
const hopelessMs = 2_000;
const missedMaxMs = 3_000;
const cutEveryMs = 10;
const herdSize = scaled(2_000, 20_000);

describeWithEngine(
  'redis',
  'across machines',
  () => {
    describeWithEngine('postgres', 'on Postgres', body);
  },
  { own: true },
);

function body(): void {
  let redis: RedisEngine;
  let processes: TerseProcess[] = [];

  beforeAll(async () => {
    redis = await startRedis();
    const links = await (await sharedPostgres()).freshDatabase();
    const env = { TERSE_LINKS: `${links}?pool=8`, TERSE_CACHE: redis.url };
    processes = await Promise.all(
      Array.from({ length: processCount }, () => startTerseProcess({ env: { ...env } })),
    );
  });
  afterAll(async () => {
    for (const terse of processes) await terse.stop();
    await redis?.stop();
  });

  test(
    'a kill takes effect in every process, whichever way the link is killed, and nothing revives it',
    async () => {
      const takenMs: number[] = [];
      for (const [index, victim] of (await makeVictims(callerOf(processes[0]!.url), killCount)).entries())
        takenMs.push(await killAndWatch(processes, victim, index, hopelessMs));
      expect(takenMs.filter(each => each > hopelessMs)).toEqual([]);
      report(`over Redis, ${processCount} processes: ${summaryOf(takenMs)}`);
    },
    heavyTestMaxMs,
  );

  test(
    'with the subscriptions cut all the time, a kill takes effect when the feed is next read',
    async () => {
      let isCutting = true;
      const cutting = (async () => {
        while (isCutting) {
          await askRedis(redis.url, 'CLIENT KILL TYPE pubsub');
          await Bun.sleep(cutEveryMs);
        }
      })();
      const byFeedBefore = await metricOf(processes[1]!.url, 'terse_changes_by_feed_only_total');
      const takenMs: number[] = [];
      const victims = await makeVictims(callerOf(processes[0]!.url), missedCount);
      await inParallel(victims.length, missedAtOnce, async index => {
        takenMs.push(await killAndWatch(processes, victims[index]!, 0, missedMaxMs));
      });
      isCutting = false;
      await cutting;
      expect(takenMs.filter(each => each > missedMaxMs)).toEqual([]);
      // Otherwise the fault was not injected.
      const byFeed = (await metricOf(processes[1]!.url, 'terse_changes_by_feed_only_total')) - byFeedBefore;
      expect(byFeed).toBeGreaterThan(0);
      report(
        `subscriptions cut: ${summaryOf(takenMs)}; ${byFeed} of ${victims.length} seen by the feed alone`,
      );
    },
    heavyTestMaxMs,
  );

  test(
    'a herd that comes for one cold link costs one read of the store per process',
    async () => {
      const [victim] = await makeVictims(callerOf(processes[0]!.url), 1);
      const reads = () => Promise.all(processes.map(({ url }) => metricOf(url, 'terse_store_reads_total')));
      const before = await reads();
      const visits = await Promise.all(
        Array.from({ length: herdSize }, (_, n) => follow(processes[n % processCount]!.url, victim!.code)),
      );
      const misdirected = visits.filter(
        ({ status, location }) => status !== 302 || location !== victim!.longUrl,
      );
      expect(misdirected.slice(0, 5)).toEqual([]);
      const after = await reads();
      const each = after.map((count, index) => count - before[index]!);
      report(`${herdSize} visitors of one cold link: ${each.join(', ')} lookups beyond memory per process`);
      for (const count of each) expect(count).toBeLessThanOrEqual(1);
    },
    heavyTestMaxMs,
  );
}
