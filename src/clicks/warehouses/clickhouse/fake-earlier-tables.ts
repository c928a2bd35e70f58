/** The tables as the version before made them: lists by the day only, single clicks by link, and six dimensions. */
import type { ClickHouse } from '../../../engines/clickhouse/clickhouse.ts';
import { kindType, rankIn, signalType, viewedTables, visitorsKept } from './columns.ts';

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
export async function makeEarlierTables(clickHouse: ClickHouse): Promise<void> {
  for (const table of viewedTables) await clickHouse.run(`DROP VIEW to_${table}_0 SYNC`);
  for (const table of ['incoming', ...viewedTables]) await clickHouse.run(`DROP TABLE ${table}_0 SYNC`);
  for (const statement of statements) await clickHouse.run(statement);
}

/** Sends what was counted elsewhere as that version did. */
export async function fillEarlierTables(clickHouse: ClickHouse, from: string): Promise<void> {
  const columns = Object.keys(incoming).join(', ');
  await clickHouse.run(`INSERT INTO incoming_0 (${columns}) SELECT ${columns} FROM ${from}.sent`);
  await clickHouse.run(`INSERT INTO ledger_0 SELECT * FROM ${from}.ledger_0`);
}
