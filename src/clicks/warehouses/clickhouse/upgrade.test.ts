import { beforeAll, beforeEach, expect, test } from 'bun:test';
import { describeWithEngine } from '../../../../test/kit/engines/describe-with-engine.ts';
import { RandomQuestions } from '../../../../test/kit/random-questions.ts';
import { heavyTestMaxMs, scaled } from '../../../../test/kit/scale.ts';
import { ManualClock } from '../../../base/clock.ts';
import { seededRandom } from '../../../base/random.ts';
import type { ClickHouse } from '../../../engines/clickhouse/clickhouse.ts';
import { type SampleClick, samplesStart } from '../../batch-samples.ts';
import { noVisitTraits } from '../../click.ts';
import { FakeLog } from '../../fake-log.ts';
import { allLists, mismatches, sampledRange, Truth } from '../../fake-warehouse-truth.ts';
import { SpanReplay, wholeDays } from '../../replay.ts';
import { alone, grainMs } from '../../warehouse.ts';
import { kindType, rankIn, signalType, viewedTables, visitorsKept } from './columns.ts';
import { clickDays, openWorld, partitionOf, sampleClicks, type World } from './fake-clickhouse-world.ts';
import { createClickHouseWarehouse } from './warehouse.ts';

const upgradedAt = samplesStart + grainMs.day + 3 * 60 * 60_000 + 60_000;
const clicks = sampleClicks(61, 3_000).sort((a, b) => a.at - b.at);
/** An earlier version knew less of a click. */
const known = (click: SampleClick): SampleClick => ({ ...click, ...noVisitTraits, region: '' });
const before = clicks.filter(({ at }) => at < upgradedAt).map(known);
/** Some of them late. */
const late = before.splice(-200, 100);
const after = [...late, ...clicks.filter(({ at }) => at >= upgradedAt)];
const batches = partitionOf([...before, ...after], before.length);
const counted = [...before, ...after];

// The tables as the version before made them: lists by the day only, single clicks by link, and six dimensions.

const word = 'LowCardinality(String)';
const time = "DateTime64(3, 'UTC')";
const remembered = 'SETTINGS non_replicated_deduplication_window = 1000';
const sum = 'SimpleAggregateFunction(sum, UInt64)';
const names = ['country', 'referrer', 'device', 'browser', 'os', 'link'];
const values = ['country', 'domain', 'device', 'browser', 'os', 'code'];
const counts = `countIf(kind = 'human') AS clicks, countIf(kind != 'human') AS bots,
  countIf(kind = 'human' AND signal != 'none') AS suspicious`;

/** What that version sent of a click. */
const incoming = {
  at: time,
  code: word,
  scopes: `Array(${word})`,
  owner: word,
  tags: `Array(${word})`,
  kind: kindType,
  signal: signalType,
  visitor: 'UInt64',
  token: 'UInt32',
  country: word,
  city: word,
  device: word,
  browser: word,
  os: word,
  domain: word,
  referrer: word,
  agent: word,
  producer: word,
  sequence: 'UInt64',
};
const kept = Object.keys(incoming).filter(name => !['scopes', 'token', 'domain'].includes(name));
const typed = (columns: readonly string[]): string =>
  columns.map(name => `${name} ${incoming[name as keyof typeof incoming]}`).join(', ');

const statements = [
  `CREATE TABLE incoming_0 (${typed(Object.keys(incoming))}) ENGINE = Null`,
  `CREATE TABLE clicks_0 (${typed(kept).replace(`code ${word}`, 'code String')})
    ENGINE = MergeTree PARTITION BY toYYYYMMDD(at) ORDER BY (code, at) ${remembered}, ttl_only_drop_parts = 1`,
  `CREATE TABLE minutes_0 (scope String, start DateTime('UTC'), clicks ${sum}, bots ${sum}, suspicious ${sum},
    visitors SimpleAggregateFunction(groupUniqArrayArray, Array(UInt32)))
    ENGINE = AggregatingMergeTree PARTITION BY toYYYYMMDD(start) ORDER BY (scope, start) ${remembered}`,
  `CREATE TABLE quarters_0 (scope String, start DateTime('UTC'), clicks ${sum}, bots ${sum}, suspicious ${sum},
    last SimpleAggregateFunction(max, ${time}),
    visitors SimpleAggregateFunction(groupUniqArrayArray(${visitorsKept}), Array(UInt32)),
    ranks AggregateFunction(groupBitmap, UInt32))
    ENGINE = AggregatingMergeTree PARTITION BY toYYYYMM(start) ORDER BY (scope, start) ${remembered}`,
  `CREATE TABLE days_0 (scope String, day Date, ranks AggregateFunction(groupBitmap, UInt32))
    ENGINE = AggregatingMergeTree PARTITION BY toYYYYMM(day) ORDER BY (scope, day) ${remembered}`,
  `CREATE TABLE dimensions_0 (scope String, day Date,
    dimension Enum8(${names.map((name, index) => `'${name}' = ${index}`).join(', ')}), value String, clicks ${sum})
    ENGINE = AggregatingMergeTree PARTITION BY toYYYYMM(day) ORDER BY (scope, day, dimension, value) ${remembered}`,
  `CREATE MATERIALIZED VIEW to_clicks_0 TO clicks_0 AS SELECT ${kept.join(', ')} FROM incoming_0`,
  `CREATE MATERIALIZED VIEW to_minutes_0 TO minutes_0 AS
    SELECT arrayJoin(scopes) AS scope, toStartOfMinute(at) AS start, ${counts},
      groupUniqArrayIf(token, kind = 'human') AS visitors
    FROM incoming_0 GROUP BY scope, start`,
  `CREATE MATERIALIZED VIEW to_quarters_0 TO quarters_0 AS
    SELECT arrayJoin(scopes) AS scope, toStartOfFifteenMinutes(at) AS start, ${counts}, max(at) AS last,
      groupUniqArrayIf(${visitorsKept})(token, kind = 'human') AS visitors,
      groupBitmapStateIf(${rankIn('token')}, kind = 'human') AS ranks
    FROM incoming_0 GROUP BY scope, start`,
  `CREATE MATERIALIZED VIEW to_days_0 TO days_0 AS
    SELECT arrayJoin(scopes) AS scope, toDate(at) AS day, groupBitmapState(${rankIn('token')}) AS ranks
    FROM incoming_0 WHERE kind = 'human' GROUP BY scope, day`,
  `CREATE MATERIALIZED VIEW to_dimensions_0 TO dimensions_0 AS
    SELECT scope, day,
      multiIf(${values.map((column, index) => `grouping(${column}) = 0, '${names[index]}'`).join(', ')}, 'link') AS dimension,
      concat(${values.join(', ')}) AS value, count() AS clicks
    FROM (
      SELECT arrayJoin(scopes) AS scope, toDate(at) AS day, ${values.slice(0, -1).join(', ')},
        if(scope = code, '', code) AS code
      FROM incoming_0 WHERE kind = 'human')
    GROUP BY GROUPING SETS (${values.map(column => `(scope, day, ${column})`).join(', ')})
    HAVING NOT (dimension = 'link' AND value = '')`,
];

/** Before anything was counted. The ledger is the same in both versions. */
async function makeEarlierTables(clickHouse: ClickHouse): Promise<void> {
  for (const table of viewedTables) await clickHouse.run(`DROP VIEW to_${table}_0 SYNC`);
  for (const table of ['incoming', ...viewedTables]) await clickHouse.run(`DROP TABLE ${table}_0 SYNC`);
  for (const statement of statements) await clickHouse.run(statement);
}

/** Sends what was counted elsewhere as that version did. */
async function fillEarlierTables(clickHouse: ClickHouse, from: string): Promise<void> {
  const columns = Object.keys(incoming).join(', ');
  await clickHouse.run(`INSERT INTO incoming_0 (${columns}) SELECT ${columns} FROM ${from}.sent`);
  await clickHouse.run(`INSERT INTO ledger_0 SELECT * FROM ${from}.ledger_0`);
}

describeWithEngine('clickhouse', 'an upgrade of ClickHouse’s tables', () => {
  let source: World;
  let world: World;
  beforeAll(async () => {
    source = await openWorld();
    await source.clickHouse.run('CREATE TABLE sent AS incoming_0 ENGINE = MergeTree ORDER BY at');
    await source.clickHouse.run('CREATE MATERIALIZED VIEW to_sent TO sent AS SELECT * FROM incoming_0');
    await source.warehouse.apply(batches.slice(0, 1));
  }, heavyTestMaxMs);
  beforeEach(async () => {
    world = await openWorld();
    await makeEarlierTables(world.clickHouse);
    await fillEarlierTables(world.clickHouse, source.clickHouse.database);
  }, heavyTestMaxMs);

  const open = (now = upgradedAt, days = clickDays) =>
    createClickHouseWarehouse({
      clickHouse: world.clickHouse,
      clock: new ManualClock(now),
      clickDays: days,
    });
  const plan = { now: upgradedAt, singlesFrom: 0, minutesFrom: 0, rowsMax: 1_000 };

  /** By so many processes at the same time. */
  async function maintained(processes = 1): Promise<number> {
    const warehouses = Array.from({ length: processes }, () => open());
    let steps = 0;
    for (;;) {
      const done = await Promise.all(warehouses.map(warehouse => warehouse.maintain(plan)));
      if (done.every(count => count === 0)) return steps;
      steps += 1;
    }
  }

  test(
    'keeps what was counted, and answers every question about it',
    async () => {
      const started = await Promise.allSettled([open().ready(), open().ready(), open().ready()]);
      expect(started.some(({ status }) => status === 'fulfilled')).toBe(true);
      for (const batch of batches.slice(1)) await open().apply([batch]);
      expect(await maintained(2)).toBeGreaterThan(20);
      const truth = new Truth(counted);
      const warehouse = open();
      const questions = new RandomQuestions(seededRandom(62), truth.world());
      expect(await mismatches(warehouse, truth, questions.take(scaled(50, 1_000)))).toEqual([]);
      for (const { kept, counted: sum } of await warehouse.hourSums(0, sampledRange.to))
        expect(kept).toBe(sum);
      async function* chunks() {
        yield batches;
      }
      // From a midnight on.
      await warehouse.recountAll(
        { countFrom: samplesStart + grainMs.day / 2, producers: ['host/0'] },
        chunks(),
      );
      expect(await mismatches(warehouse, truth, questions.take(scaled(20, 400)))).toEqual([]);
    },
    heavyTestMaxMs,
  );

  test(
    'leaves days that can be recounted',
    async () => {
      const warehouse = open();
      await warehouse.apply(batches);
      await maintained();
      await world.clickHouse.run(
        'ALTER TABLE earlier_0 DELETE WHERE sequence % 2 = 0 SETTINGS mutations_sync = 1',
      );
      await world.clickHouse.run(`DELETE FROM dimensions_0 WHERE value = 'Linux'`);
      const log = new FakeLog();
      log.write(batches);
      const range = wholeDays({ from: samplesStart, to: samplesStart + 3 * grainMs.day });
      await warehouse.recountDays(new SpanReplay(log, range), alone);
      const truth = new Truth(counted);
      const questions = new RandomQuestions(seededRandom(64), truth.world());
      expect(await mismatches(warehouse, truth, questions.take(scaled(25, 400)))).toEqual([]);
      expect(await warehouse.maintain(plan)).toBe(0);
    },
    heavyTestMaxMs,
  );

  test('when it was stopped in the middle, goes on', async () => {
    const { clickHouse } = world;
    await clickHouse.run('RENAME TABLE clicks_0 TO earlier_0');
    await open().ready();
    await maintained();
    const truth = new Truth(before);
    const questions = new RandomQuestions(seededRandom(63), truth.world());
    const asked = questions.take(scaled(10, 100), { isFiltered: false, grain: 'quarter' });
    expect(await mismatches(open(), truth, asked)).toEqual([]);
  });

  test('lists whole days where neither quarter hours nor single clicks are left', async () => {
    const now = samplesStart + 2 * grainMs.day;
    await open().ready();
    await maintained();
    const midnight = Math.floor(samplesStart / grainMs.day) * grainMs.day;
    const scopes = [{ kind: 'owner', ownerId: 'acc_1' } as const];
    const question = { scopes, starts: [], filters: [], breakdowns: allLists };
    const from = midnight + 15 * 60 * 60_000;
    const truth = new Truth(before);
    const brief = open(now, 2);
    const asked = { ...question, from, to: midnight + grainMs.day };
    const answer = await brief.answer(asked);
    expect(answer.listsByDayUntil).toBe(midnight + grainMs.day);
    expect(answer.counts).toEqual(truth.answer(asked).counts);
    expect(answer.breakdowns).toEqual(truth.answer({ ...asked, from: midnight }).breakdowns);
    const whole = { ...asked, from: midnight };
    expect(await mismatches(brief, truth, [whole])).toEqual([]);
    expect((await brief.answer(whole)).listsByDayUntil).toBe(0);
  });
});
