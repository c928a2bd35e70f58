/**
 * Counts of the current hour are corrupted directly in the database. Terse detects that the hour's numbers disagree, is
 * killed several times while it repairs them, and then repairs them under load. At every moment the numbers are the
 * corrupted ones or the right ones, and in the end they are right.
 */
import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { announcedRandom } from '../kit/announced-random.ts';
import { createClickedLinks, statsAt } from '../kit/click-account.ts';
import { callerOf } from '../kit/client.ts';
import { sharedClickHouse } from '../kit/engines/clickhouse.ts';
import { patientClickHouse } from '../kit/engines/clickhouse-client.ts';
import { describeWithEngine } from '../kit/engines/describe-with-engine.ts';
import { sharedKafka } from '../kit/engines/kafka.ts';
import { expectSafe } from '../kit/expect-safe.ts';
import { countedAt } from '../kit/kafka-account.ts';
import { report } from '../kit/report.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { startTerseProcess, temporaryFolder } from '../kit/terse-process.ts';
import { type SampleVisit, sampleVisits } from '../kit/visit-kinds.ts';
import { sendVisits, VisitTally } from '../kit/visit-load.ts';

const visitCount = scaled(2_000, 200_000);
const linkCount = 4;
const connections = 8;
const hourMs = 60 * 60_000;
const dayMs = 24 * hourMs;
const repairKillMaxMs = scaled(250, 1_500);

interface Warehouse {
  readonly env: Readonly<Record<string, string>>;
  /** Removes counts of some links and their owner, and adds some to others. */
  spoil(dataFolder: string, from: number, to: number): Promise<void>;
  readonly kills: number;
}

async function seeAndRepair({ env, spoil, kills }: Warehouse): Promise<void> {
  const random = announcedRandom('kills of those who repair');
  const dataFolder = temporaryFolder();
  let terse = await startTerseProcess({ dataFolder, env });
  try {
    const startedAt = Math.floor(Date.now() / hourMs) * hourMs;
    const codes = await createClickedLinks(terse.url, linkCount);
    const tally = new VisitTally(sampleVisits({ codes }));
    const visit = (count: number) => sendVisits({ url: terse.url, visits: tally, connections, count });
    // The hour may have changed meanwhile.
    const span = () => ({ from: startedAt, to: (Math.floor(Date.now() / hourMs) + 1) * hourMs });
    const query = () => `from=${new Date(span().from).toISOString()}&to=${new Date(span().to).toISOString()}`;
    const worstDrift = async (): Promise<number> => {
      const path = `/api/v1/reconcile/hours?stream=true&${query()}`;
      const { status, body } = await callerOf(terse.url)('GET', path);
      expect([status, body.hours?.length > 0]).toEqual([200, true]);
      return Math.max(...body.hours.map(({ drift }: { drift: number }) => drift));
    };
    const numbers = () =>
      Promise.all(
        codes.map(async code => {
          const { range } = await statsAt(terse.url, `/api/v1/links/${code}/stats`);
          return [range.clicks, range.botClicks];
        }),
      );
    const truth = () =>
      codes.map(code => {
        const answered = (isHuman: boolean): number =>
          tally.answeredCount(kind => (kind as SampleVisit).code === code && kind.isHuman === isHuman);
        return [answered(true), answered(false)];
      });

    await visit(visitCount);
    await countedAt(terse.url, tally.answeredCount());
    const right = truth();
    expect([await worstDrift(), await numbers()]).toEqual([0, right]);

    await spoil(dataFolder, span().from, span().to);
    expect(await worstDrift()).toBeGreaterThan(0.01);
    let spoiled = await numbers();
    expect(spoiled).not.toEqual(right);

    let finished = 0;
    for (let kill = 0; kill < kills; kill += 1) {
      const repairing = callerOf(terse.url)('POST', `/api/v1/reconcile?${query()}`).catch(() => undefined);
      await Bun.sleep(random.float() * repairKillMaxMs);
      await terse.kill();
      await repairing;
      terse = await startTerseProcess({ dataFolder, env });
      const now = await numbers();
      if (!Bun.deepEquals(now, right)) {
        expect(now).toEqual(spoiled);
        continue;
      }
      finished += 1;
      await spoil(dataFolder, span().from, span().to);
      // More clicks are lost than the first time, because a repair leaves larger runs.
      spoiled = await numbers();
    }

    const visits = visit(visitCount);
    const { status, body } = await callerOf(terse.url)('POST', `/api/v1/reconcile?${query()}`);
    expect([status, body.repairedClicks >= visitCount]).toEqual([200, true]);
    await visits;
    expect(tally.faults).toEqual([]);
    await countedAt(terse.url, tally.answeredCount());
    expectSafe(await numbers()).toEqual(truth());
    expect(await worstDrift()).toBe(0);
    report(
      `${tally.answeredCount()} clicks right again after a repair among visitors; ${kills} kills of those who repaired, ` +
        `${finished} after it was done`,
    );
  } finally {
    await terse.kill();
    rmSync(dataFolder, { recursive: true, force: true });
  }
}

async function spoilSqlite(dataFolder: string, from: number, to: number): Promise<void> {
  const database = new Database(join(dataFolder, 'stats.db'));
  try {
    database.run('PRAGMA busy_timeout = 10000');
    // Clicks of these hours are lost: the largest run of them, however often runs were merged.
    const { changes } = database.run(
      `UPDATE runs SET state = 'dropped' WHERE id = (
        SELECT id FROM runs WHERE state = 'live' AND day >= ? AND day < ? ORDER BY clicks DESC LIMIT 1)`,
      [from - (from % dayMs), to],
    );
    expect(changes).toBe(1);
  } finally {
    database.close();
  }
}

async function spoilClickHouse(statsUrl: string, from: number, to: number): Promise<void> {
  const clickHouse = patientClickHouse(statsUrl);
  const [row] = await clickHouse.rows<{ generation: number }>(
    'SELECT argMax(generation, at) AS generation FROM generations',
  );
  for (const table of ['minutes', 'quarters']) {
    const name = `${table}_${row?.generation ?? 0}`;
    const within = `start >= ${from / 1_000} AND start < ${to / 1_000}`;
    const [first] = await clickHouse.rows<{ code: string }>(
      `SELECT min(scope) AS code FROM ${name} WHERE position(scope, ':') = 0`,
    );
    await clickHouse.run(`DELETE FROM ${name} WHERE ${within} AND scope = '${first!.code}'`);
    await clickHouse.run(
      `INSERT INTO ${name} (scope, start, bots) SELECT max(scope), min(start), 9 FROM ${name} WHERE position(scope, ':') = 0`,
    );
  }
}

test(
  'an hour that was spoiled in SQLite is seen, and right again after a repair among visitors and kills',
  () => seeAndRepair({ env: {}, spoil: spoilSqlite, kills: scaled(3, 20) }),
  heavyTestMaxMs,
);

describeWithEngine('kafka', 'with clicks in Kafka', () =>
  describeWithEngine('clickhouse', 'and counts in ClickHouse', () => {
    test(
      'an hour that was spoiled is seen, and right again after a repair among visitors and kills',
      async () => {
        const statsUrl = (await sharedClickHouse()).freshDatabaseUrl();
        const env = { TERSE_STREAM: (await sharedKafka()).freshTopicUrl(), TERSE_STATS: statsUrl };
        // A counter that was killed is missed after ten seconds, so that each kill takes its time.
        const kills = scaled(0, 5);
        await seeAndRepair({ env, spoil: (_, from, to) => spoilClickHouse(statsUrl, from, to), kills });
      },
      heavyTestMaxMs,
    );
  }),
);

describeWithEngine('kafka', 'with clicks in Kafka and counts in SQLite', () => {
  test.skipIf(scaled(true, false))(
    'an hour that was spoiled is seen, and right again after a repair among visitors and kills',
    async () => {
      const env = { TERSE_STREAM: (await sharedKafka()).freshTopicUrl() };
      await seeAndRepair({ env, spoil: spoilSqlite, kills: 5 });
    },
    heavyTestMaxMs,
  );
});
