/**
 * The warehouse in ClickHouse. Clicks are inserted into `incoming`, which keeps nothing; views on it fill the tables
 * that do, in the same request. Every one of those deduplicates by the token of the insert, each for itself, so that
 * sending a block again completes whatever part of it had been stored and changes nothing else.
 *
 *   clicks       single clicks, by owner, link and time; dropped by the day
 *   minutes      counts and visitors of a scope, dropped by the day
 *   quarters     counts of a scope for good, and its visitors: one by one while they are few, and their ranks
 *   days         the ranks of a scope's visitors; its counts are added up from quarter hours
 *   dimensions   countries, referrers and so on of a scope and UTC day
 *   lists        the same by the quarter hour, for the ends of a range that are no whole days
 *   ledger       how far partitions and producers were counted, and what of them in each hour
 *
 * Tables come in generations, identified by a number behind their names: a recount fills a new one and a row in
 * `generations` replaces the old. Sums and sets come together when parts are merged, so every reader adds up.
 *
 * A rank is what a visitor's token (sketch/token.ts) says to HyperLogLog: a register, and how far it has to reach. The
 * set of all of them is a bitmap of at most 128 KB for any number of visitors, and merging bitmaps takes microseconds.
 */
import type { Settings } from '../../../engines/clickhouse/clickhouse.ts';
import type { MigrationSet } from '../../../engines/clickhouse/migrations.ts';
import { type Dimension, dimensions } from '../../dimensions.ts';
import {
  clickColumns,
  clickTypes,
  dimensionNumber,
  dimensionType,
  generationTables,
  incomingTypes,
  ledgerKindType,
  rankIn,
  tableName,
  time,
  type ViewedTable,
  viewedTables,
  viewName,
  visitorsKept,
} from './columns.ts';

export const firstGeneration = 0;

type Table = (typeof generationTables)[number];

// What the views on incoming clicks select for each table.

const counts = `countIf(kind = 'human') AS clicks, countIf(kind != 'human') AS bots,
      countIf(kind = 'human' AND signal != 'none') AS suspicious`;

/**
 * Values of dimensions in a scope and a stretch of time. Empty values are not kept: they are what is left of the clicks,
 * and of most dimensions the most. Every click becomes a row for each value that it has, before they are grouped together:
 * grouping by each dimension in a set of its own costs three times as much for a few hundred clicks, and as much for
 * 100,000.
 */
export function listsText(from: string, start: string, listed: readonly Dimension[] = dimensions): string {
  const entryOf = (dimension: Dimension): string =>
    `(toInt8(${dimensionNumber(dimension)}), ${valueText(dimension)})`;
  const entriesOf = (isOfPeople: boolean): string => {
    const entries = listed.filter(({ of }) => (of !== 'kind') === isOfPeople).map(entryOf);
    return entries.length === 0 ? '[]' : `[${entries.join(', ')}]`;
  };
  return `
    SELECT scope, ${start}, CAST(entry.1, 'Int8') AS dimension, entry.2 AS value, count() AS clicks
    FROM (
      SELECT arrayJoin(scopes) AS scope, ${start === 'day' ? 'toDate(at)' : 'toStartOfFifteenMinutes(at)'} AS ${start},
        arrayJoin(arrayFilter(each -> each.2 != '',
          if(kind = 'human', ${entriesOf(true)}, ${entriesOf(false)}))) AS entry
      FROM ${from})
    GROUP BY scope, ${start}, dimension, value`;
}

/** A link's own list has no link in it. */
const valueText = ({ column }: Dimension): string =>
  column === 'code' ? `if(scope = code, '', code)` : `toString(${column})`;

const selects = (incoming: string): Readonly<Record<ViewedTable, string>> => ({
  clicks: `SELECT ${clickColumns.join(', ')} FROM ${incoming}`,
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
  dimensions: listsText(incoming, 'day'),
  lists: listsText(incoming, 'start'),
});

const viewStatements = (generation: number): string[] => {
  const texts = selects(tableName('incoming', generation));
  return viewedTables.map(
    table =>
      `CREATE MATERIALIZED VIEW IF NOT EXISTS ${viewName(table, generation)} TO ${tableName(table, generation)} AS ${texts[table]}`,
  );
};

/** Gives views of an earlier version the columns and dimensions of this one, in place. */
export const changedViewStatements = (generation: number, hasLists: boolean): string[] => {
  const texts = selects(tableName('incoming', generation));
  const changed = ['clicks', 'dimensions', ...(hasLists ? (['lists'] as const) : [])] as const;
  return changed.map(table => `ALTER TABLE ${viewName(table, generation)} MODIFY QUERY ${texts[table]}`);
};

/**
 * Of how many inserts a table remembers the tokens. It has to be more than are made while a process may be gone and come
 * back with the insert it was about to make: at ten a second this is more than an hour.
 */
const tokensRemembered = 50_000;

const bulkyTables: ReadonlySet<Table> = new Set(['minutes', 'quarters', 'days']);
const bulkyGranuleBytes = 512 * 1024;

const start = "DateTime('UTC') CODEC(Delta, ZSTD(1))";
const day = 'Date CODEC(Delta, ZSTD(1))';
const ranks = 'AggregateFunction(groupBitmap, UInt32) CODEC(ZSTD(1))';
const sum = 'SimpleAggregateFunction(sum, UInt64) CODEC(T64, ZSTD(1))';
const sums = `clicks ${sum}, bots ${sum}, suspicious ${sum}`;
const scope = 'scope String CODEC(ZSTD(1))';
const listed = `dimension ${dimensionType} CODEC(ZSTD(1)), value String CODEC(ZSTD(3)), clicks ${sum}`;
const columnsOf = (types: Readonly<Record<string, string>>): string =>
  Object.entries(types)
    .map(([name, type]) => `${name} ${type}`)
    .join(', ');

/** What sorts single clicks. Of a link whose owner is not known, they are found by an index. */
export const clickOrder = 'owner, code, at';

const tables: Readonly<Record<Table, string>> = {
  incoming: `(${columnsOf(incomingTypes)}) ENGINE = Null`,
  clicks: `(
    ${columnsOf(clickTypes)}, INDEX by_code code TYPE bloom_filter GRANULARITY 1
  ) ENGINE = MergeTree PARTITION BY toYYYYMMDD(at) ORDER BY (${clickOrder})`,
  minutes: `(
    ${scope}, start ${start}, ${sums},
    visitors SimpleAggregateFunction(groupUniqArrayArray, Array(UInt32)) CODEC(ZSTD(1))
  ) ENGINE = AggregatingMergeTree PARTITION BY toYYYYMMDD(start) ORDER BY (scope, start)`,
  quarters: `(
    ${scope}, start ${start}, ${sums},
    last SimpleAggregateFunction(max, ${time}) CODEC(Delta, ZSTD(1)),
    visitors SimpleAggregateFunction(groupUniqArrayArray(${visitorsKept}), Array(UInt32)) CODEC(ZSTD(1)),
    ranks ${ranks}
  ) ENGINE = AggregatingMergeTree PARTITION BY toYYYYMM(start) ORDER BY (scope, start)`,
  days: `(${scope}, day ${day}, ranks ${ranks})
    ENGINE = AggregatingMergeTree PARTITION BY toYYYYMM(day) ORDER BY (scope, day)`,
  dimensions: `(${scope}, day ${day}, ${listed})
    ENGINE = AggregatingMergeTree PARTITION BY toYYYYMM(day) ORDER BY (scope, day, dimension, value)`,
  lists: `(${scope}, start ${start}, ${listed})
    ENGINE = AggregatingMergeTree PARTITION BY toYYYYMM(start) ORDER BY (scope, start, dimension, value)`,
  // In one piece, so that an insert of position, numbers and hours is one part: all of it is there, or nothing.
  ledger: `(
    kind ${ledgerKindType},
    name String,
    hour DateTime('UTC'),
    position SimpleAggregateFunction(max, UInt64),
    counted ${sum},
    skipped ${sum},
    duplicates ${sum}
  ) ENGINE = AggregatingMergeTree ORDER BY (kind, name, hour)`,
};

/** Everything of a generation, in the order in which it can be made. */
export function generationStatements(generation: number): string[] {
  const made = generationTables.map(table => {
    const settings = table === 'incoming' ? '' : ` SETTINGS ${settingsOf(table)}`;
    return `CREATE TABLE IF NOT EXISTS ${tableName(table, generation)} ${tables[table]}${settings}`;
  });
  return [...made, ...viewStatements(generation)];
}

export function dropStatements(generation: number): string[] {
  return [
    ...viewedTables.map(table => `DROP VIEW IF EXISTS ${viewName(table, generation)} SYNC`),
    ...([...generationTables, 'earlier'] as const).map(
      table => `DROP TABLE IF EXISTS ${tableName(table, generation)} SYNC`,
    ),
  ];
}

function settingsOf(table: Table): string {
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
 * visitors or single clicks are read, of which it saves most.
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
    [
      `CREATE TABLE IF NOT EXISTS upgrades (generation UInt64, lists_from_ms UInt64, filled_from_ms UInt64)
        ENGINE = MergeTree ORDER BY generation`,
    ],
  ],
};
