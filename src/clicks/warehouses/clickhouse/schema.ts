/**
 * The warehouse in ClickHouse. Clicks are inserted into `incoming`, which keeps nothing; views on it fill the tables
 * that do, in the same request. Every one of those deduplicates by the token of the insert, each for itself, so that
 * sending a block again completes whatever part of it had been stored and changes nothing else.
 *
 *   clicks       single clicks, by link and time; dropped by the day
 *   minutes      counts and visitors of a scope, dropped by the day
 *   quarters     counts of a scope for good, and its visitors: one by one while they are few, and their ranks
 *   days         the ranks of a scope's visitors; its counts are added up from quarter hours
 *   dimensions   countries, referrers and so on of a scope and day
 *   ledger       how far partitions and producers were counted, and what of them in each hour
 *
 * Tables come in generations, identified by a number behind their names: a rebuild fills a new one and a row in
 * `generations` replaces the old. Sums and sets come together when parts are merged, so every reader adds up.
 *
 * A rank is what a visitor's token (sketch/token.ts) says to HyperLogLog: a register, and how far it has to reach. The
 * set of all of them is a bitmap of at most 128 KB for any number of visitors, and merging bitmaps takes microseconds.
 */
import type { ClickHouse, Settings } from '../../../engines/clickhouse/clickhouse.ts';
import type { MigrationSet } from '../../../engines/clickhouse/migrations.ts';
import { clickSignals, visitKinds } from '../../click.ts';
import { type Dimension, dimensionNames, dimensions } from '../../dimensions.ts';
import { tokensMax } from '../../sketch/sparse.ts';
import { registerCount } from '../../sketch/token.ts';

export const firstGeneration = 0;

/** What is filled by views, in the order in which it is copied by a rebuild. */
export const viewedTables = ['clicks', 'minutes', 'quarters', 'days', 'dimensions'] as const;
export const generationTables = ['incoming', ...viewedTables, 'ledger'] as const;
export type GenerationTable = (typeof generationTables)[number];

export const tableName = (table: GenerationTable, generation: number): string => `${table}_${generation}`;
const viewName = (table: (typeof viewedTables)[number], generation: number): string =>
  `to_${table}_${generation}`;

/** One more than a sketch keeps one by one: where there are this many, registers give the rest. */
export const visitorsKept = tokensMax + 1;

/**
 * Of how many inserts a table remembers the tokens. It has to be more than are made while a process may be gone and come
 * back with the insert it was about to make: at ten a second this is more than an hour.
 */
const tokensRemembered = 50_000;

const bulkyTables: ReadonlySet<GenerationTable> = new Set(['minutes', 'quarters', 'days']);
const bulkyGranuleBytes = 512 * 1024;

const enumOf = (names: readonly string[]): string =>
  `Enum8(${names.map((name, index) => `'${name}' = ${index}`).join(', ')})`;
const kindType = enumOf(visitKinds);
const signalType = enumOf(clickSignals);
const dimensionType = enumOf(dimensionNames);
const ledgerKinds = ['partition', 'producer', 'hour'] as const;
export type LedgerKind = (typeof ledgerKinds)[number];

const word = 'LowCardinality(String)';
const packedWord = `${word} CODEC(ZSTD(1))`;
const time = "DateTime64(3, 'UTC')";
const start = "DateTime('UTC') CODEC(Delta, ZSTD(1))";
const ranks = 'AggregateFunction(groupBitmap, UInt32) CODEC(ZSTD(1))';
const sum = 'SimpleAggregateFunction(sum, UInt64) CODEC(T64, ZSTD(1))';

/** Those of the first version; tables that it made get the columns of later ones behind all others. */
const firstDimensions = 6;
const addedDimensions: readonly Dimension[] = dimensions.slice(firstDimensions);

/** In the order in which a block is sent (incoming.ts). */
export const incomingTypes: Readonly<Record<string, string>> = {
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
  ...Object.fromEntries(addedDimensions.map(({ column }) => [column, word])),
};

const tables: Readonly<Record<GenerationTable, string>> = {
  incoming: `(${Object.entries(incomingTypes)
    .map(([name, type]) => `${name} ${type}`)
    .join(', ')}) ENGINE = Null`,
  clicks: `(
    code String CODEC(ZSTD(1)),
    at ${time} CODEC(Delta, ZSTD(1)),
    kind ${kindType} CODEC(ZSTD(1)),
    signal ${signalType} CODEC(ZSTD(1)),
    visitor UInt64 CODEC(NONE),
    country ${packedWord},
    city ${packedWord},
    device ${packedWord},
    browser ${packedWord},
    os ${packedWord},
    referrer ${packedWord},
    agent ${packedWord},
    owner ${packedWord},
    tags Array(${word}) CODEC(ZSTD(1)),
    producer ${packedWord},
    sequence UInt64 CODEC(Delta, ZSTD(1))
    ${addedDimensions.map(({ column }) => `, ${column} ${packedWord}`).join('')}
  ) ENGINE = MergeTree PARTITION BY toYYYYMMDD(at) ORDER BY (code, at)`,
  minutes: `(
    scope String CODEC(ZSTD(1)),
    start ${start},
    clicks ${sum},
    bots ${sum},
    suspicious ${sum},
    visitors SimpleAggregateFunction(groupUniqArrayArray, Array(UInt32)) CODEC(ZSTD(1))
  ) ENGINE = AggregatingMergeTree PARTITION BY toYYYYMMDD(start) ORDER BY (scope, start)`,
  quarters: `(
    scope String CODEC(ZSTD(1)),
    start ${start},
    clicks ${sum},
    bots ${sum},
    suspicious ${sum},
    last SimpleAggregateFunction(max, ${time}) CODEC(Delta, ZSTD(1)),
    visitors SimpleAggregateFunction(groupUniqArrayArray(${visitorsKept}), Array(UInt32)) CODEC(ZSTD(1)),
    ranks ${ranks}
  ) ENGINE = AggregatingMergeTree PARTITION BY toYYYYMM(start) ORDER BY (scope, start)`,
  days: `(
    scope String CODEC(ZSTD(1)),
    day Date CODEC(Delta, ZSTD(1)),
    ranks ${ranks}
  ) ENGINE = AggregatingMergeTree PARTITION BY toYYYYMM(day) ORDER BY (scope, day)`,
  dimensions: `(
    scope String CODEC(ZSTD(1)),
    day Date CODEC(Delta, ZSTD(1)),
    dimension ${dimensionType} CODEC(ZSTD(1)),
    value String CODEC(ZSTD(3)),
    clicks ${sum}
  ) ENGINE = AggregatingMergeTree PARTITION BY toYYYYMM(day) ORDER BY (scope, day, dimension, value)`,
  // In one piece, so that an insert of position, numbers and hours is one part: all of it is there, or nothing.
  ledger: `(
    kind ${enumOf(ledgerKinds)},
    name String,
    hour DateTime('UTC'),
    position SimpleAggregateFunction(max, UInt64),
    counted ${sum},
    skipped ${sum},
    duplicates ${sum}
  ) ENGINE = AggregatingMergeTree ORDER BY (kind, name, hour)`,
};

/**
 * Rank and register of a token in one number; the same as `rankOf` and `registerOf`. The rank stands above: low ranks are
 * by far the most, so they share the first stretch of a bitmap, where it is bits and not a list, and merges by the word.
 */
export const rankIn = (token: string): string => {
  const prefix = `bitAnd(bitShiftRight(${token}, 6), 2047)`;
  const rank = `if(${prefix} = 0, 11 + bitAnd(${token}, 63), 11 - floor(log2(${prefix})))`;
  return `toUInt32(${rank} * ${registerCount} + bitShiftRight(${token}, 17))`;
};

const values = dimensions.map(({ column }) => column);
const dimensionOf = dimensions.map(({ name, column }) => `grouping(${column}) = 0, '${name}'`);

const counts = `countIf(kind = 'human') AS clicks, countIf(kind != 'human') AS bots,
      countIf(kind = 'human' AND signal != 'none') AS suspicious`;

const views = (incoming: string): Readonly<Record<(typeof viewedTables)[number], string>> => ({
  clicks: `
    SELECT code, at, kind, signal, visitor, country, city, device, browser, os, referrer, agent, owner, tags, producer,
      sequence${addedDimensions.map(({ column }) => `, ${column}`).join('')}
    FROM ${incoming}`,
  minutes: `
    SELECT arrayJoin(scopes) AS scope, toStartOfMinute(at) AS start,
      ${counts},
      groupUniqArrayIf(token, kind = 'human') AS visitors
    FROM ${incoming} GROUP BY scope, start`,
  quarters: `
    SELECT arrayJoin(scopes) AS scope, toStartOfFifteenMinutes(at) AS start,
      ${counts}, max(at) AS last,
      groupUniqArrayIf(${visitorsKept})(token, kind = 'human') AS visitors,
      groupBitmapStateIf(${rankIn('token')}, kind = 'human') AS ranks
    FROM ${incoming} GROUP BY scope, start`,
  days: `
    SELECT arrayJoin(scopes) AS scope, toDate(at) AS day, groupBitmapState(${rankIn('token')}) AS ranks
    FROM ${incoming} WHERE kind = 'human' GROUP BY scope, day`,
  // Of the columns that a set is not grouped by, each row has the empty text.
  dimensions: `
    SELECT scope, day, multiIf(${dimensionOf.join(', ')}, 'link') AS dimension,
      concat(${values.join(', ')}) AS value, count() AS clicks
    FROM (
      SELECT arrayJoin(scopes) AS scope, toDate(at) AS day, ${values.filter(column => column !== 'code').join(', ')},
        if(scope = code, '', code) AS code
      FROM ${incoming} WHERE kind = 'human')
    GROUP BY GROUPING SETS (${values.map(column => `(scope, day, ${column})`).join(', ')})
    HAVING NOT (dimension = 'link' AND value = '')`,
});

/** Everything of a generation, in the order in which it can be made. */
export function generationStatements(generation: number): string[] {
  const made = generationTables.map(table => {
    const settings = table === 'incoming' ? '' : ` SETTINGS ${settingsOf(table)}`;
    return `CREATE TABLE IF NOT EXISTS ${tableName(table, generation)} ${tables[table]}${settings}`;
  });
  const selects = views(tableName('incoming', generation));
  const filled = viewedTables.map(
    table =>
      `CREATE MATERIALIZED VIEW IF NOT EXISTS ${viewName(table, generation)} TO ${tableName(table, generation)} AS ${selects[table]}`,
  );
  return [...made, ...filled];
}

/** Brings a generation that an older version made up to the dimensions of this one. */
function dimensionStatements(generation: number): string[] {
  const selects = views(tableName('incoming', generation));
  const columns = addedDimensions.flatMap(({ column }) => [
    `ALTER TABLE ${tableName('incoming', generation)} ADD COLUMN IF NOT EXISTS ${column} ${word}`,
    `ALTER TABLE ${tableName('clicks', generation)} ADD COLUMN IF NOT EXISTS ${column} ${packedWord}`,
  ]);
  return [
    `ALTER TABLE ${tableName('dimensions', generation)} MODIFY COLUMN dimension ${dimensionType} CODEC(ZSTD(1))`,
    ...columns,
    ...(['clicks', 'dimensions'] as const).map(
      table => `ALTER TABLE ${viewName(table, generation)} MODIFY QUERY ${selects[table]}`,
    ),
  ];
}

export function dropStatements(generation: number): string[] {
  return [
    ...viewedTables.map(table => `DROP VIEW IF EXISTS ${viewName(table, generation)} SYNC`),
    ...generationTables.map(table => `DROP TABLE IF EXISTS ${tableName(table, generation)} SYNC`),
  ];
}

function settingsOf(table: GenerationTable): string {
  const settings = [`non_replicated_deduplication_window = ${tokensRemembered}`];
  // Days of clicks go as a whole, by removing their parts, instead of being written again without some rows.
  if (table === 'clicks') settings.push('ttl_only_drop_parts = 1');
  // Rows of a busy scope are long: a query for some of them should not have to read thousands.
  if (bulkyTables.has(table)) settings.push(`index_granularity_bytes = ${bulkyGranuleBytes}`);
  return settings.join(', ');
}

/**
 * For questions about a few scopes, whose rows lie together in the order of the key. Reading the columns of the condition
 * first, to save reading others, then costs more than it saves: a third of the time for the minutes of a day. Not where
 * visitors are read, which are so long that it saves four fifths.
 */
export const byKey: Settings = { optimize_move_to_prewhere: 0 };

export const warehouseMigrations: MigrationSet = {
  component: 'warehouse',
  steps: [
    [
      `CREATE TABLE IF NOT EXISTS generations (generation UInt64, at ${time} DEFAULT now64(3)) ENGINE = MergeTree ORDER BY at`,
      `CREATE TABLE IF NOT EXISTS forgotten (code String, at_ms UInt64, noted ${time} DEFAULT now64(3)) ENGINE = MergeTree ORDER BY noted`,
      ...generationStatements(firstGeneration),
    ],
    [
      `CREATE TABLE IF NOT EXISTS holds (until DateTime64(6, 'UTC'), noted DateTime64(6, 'UTC') DEFAULT now64(6))
        ENGINE = MergeTree ORDER BY noted TTL toDateTime(noted) + toIntervalDay(1)`,
    ],
  ],
};

/** Adds the dimensions that are new in this version; asked of the server once for each process. */
export async function ensureDimensions(clickHouse: ClickHouse, generation: number): Promise<void> {
  const [row] = await clickHouse.rows<{ type: string }>(`
    SELECT type FROM system.columns WHERE database = currentDatabase()
      AND table = '${tableName('dimensions', generation)}' AND name = 'dimension'`);
  if (row === undefined || dimensionNames.every(name => row.type.includes(`'${name}'`))) return;
  for (const statement of dimensionStatements(generation)) await clickHouse.run(statement);
}

/** How long single clicks are kept: ClickHouse drops their days by itself, whichever processes run. */
export async function keepClicks(clickHouse: ClickHouse, generation: number, days: number): Promise<void> {
  const table = tableName('clicks', generation);
  const [row] = await clickHouse.rows<{ text: string }>(
    `SELECT engine_full AS text FROM system.tables WHERE database = currentDatabase() AND name = '${table}'`,
  );
  // Changing it makes the server look at every part, so it is done only when it changes.
  if (row?.text.includes(`toIntervalDay(${days})`) === true) return;
  await clickHouse.run(`ALTER TABLE ${table} MODIFY TTL toDate(at) + toIntervalDay(${days})`);
}
