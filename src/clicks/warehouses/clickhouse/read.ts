/** Answers, from aggregates only. Rows that were not merged yet are added up, so an answer never depends on merging. */
import { type ClickHouse, quoted, quotedList } from '../../../engines/clickhouse/clickhouse.ts';
import { type DimensionCounts, type DimensionName, dimensionNames } from '../../dimensions.ts';
import { type ExportFields, exportedColumns, exportHead, exportLine } from '../../export.ts';
import type { ExportCursor, ExportFilter, ExportPart } from '../../stats.ts';
import {
  type Bucket,
  type CountedProducer,
  type CountsQuestion,
  type Grain,
  grainMs,
  type HourSum,
  type LedgerRow,
  type RankedLink,
  type RankingQuestion,
  type Scope,
  type ScopeCounts,
  type ScopeTotal,
  scopeName,
  type TimeRange,
} from '../../warehouse.ts';
import { readCounts } from './counts.ts';
import type { Generations } from './generations.ts';
import { byKey, type GenerationTable, tableName } from './schema.ts';
import { countVisitors } from './visitors.ts';

export function createReader(clickHouse: ClickHouse, generations: Generations) {
  const ask = <Row>(queryFor: (table: TableNames) => string): Promise<Row[]> =>
    generations.use(generation =>
      clickHouse.rows<Row>(
        queryFor(table => tableName(table, generation)),
        { settings: byKey },
      ),
    );

  return {
    async series(scope: Scope, grain: Grain, from: number, to: number): Promise<Bucket[]> {
      // A bucket belongs to the range that its beginning is in, and days are added up from quarter hours.
      const [first, end] = [from, to].map(at => Math.ceil(at / grainMs[grain]) * grainMs[grain]);
      const start = grain === 'day' ? 'toStartOfDay(start)' : 'start';
      return ask<Bucket>(
        table => `
        SELECT toUnixTimestamp(${start}) * 1000 AS start, sum(clicks) AS clicks, sum(bots) AS bots, sum(suspicious) AS suspicious
        FROM ${table(grain === 'minute' ? 'minutes' : 'quarters')} AS buckets
        WHERE scope = ${quoted(scopeName(scope))} AND buckets.start >= ${first! / 1_000} AND buckets.start < ${end! / 1_000}
        GROUP BY start ORDER BY start`,
      );
    },
    counts: (question: CountsQuestion): Promise<ScopeCounts> =>
      generations.use(generation => readCounts(clickHouse, generation, question)),
    uniques: (scopes: readonly Scope[], from: number, to: number): Promise<number> =>
      generations.use(generation =>
        countVisitors(clickHouse, { generation, scopes: scopes.map(scopeName), from, to }),
      ),
    async dimensions(
      scopes: readonly Scope[],
      from: number,
      to: number,
      top: number,
    ): Promise<DimensionCounts> {
      const fromDay = Math.floor(from / grainMs.day);
      const toDay = Math.ceil(to / grainMs.day);
      const rows = await ask<{ dimension: DimensionName; value: string; clicks: number }>(
        table => `
        SELECT dimension, value, sum(clicks) AS clicks FROM ${table('dimensions')} AS counts
        WHERE scope IN ${quotedList(scopes.map(scopeName))} AND day >= toDate(${fromDay}) AND day < toDate(${toDay})
        GROUP BY dimension, value ORDER BY clicks DESC, value LIMIT ${top} BY dimension`,
      );
      const byName = Map.groupBy(rows, ({ dimension }) => dimension);
      return Object.fromEntries(
        dimensionNames.map(name => [
          name,
          (byName.get(name) ?? []).map(({ value, clicks }) => ({ value, clicks })),
        ]),
      ) as unknown as DimensionCounts;
    },
    /** In the order of the scopes. */
    async totals(scopes: readonly Scope[]): Promise<ScopeTotal[]> {
      const names = scopes.map(scopeName);
      const rows = await ask<ScopeTotal & { scope: string }>(
        table => `
        SELECT scope, sum(clicks) AS clicks, sum(bots) AS bots, sum(suspicious) AS suspicious,
          toUnixTimestamp64Milli(max(last)) AS lastClickAt
        FROM ${table('quarters')} WHERE scope IN ${quotedList(names)} GROUP BY scope`,
      );
      const byName = new Map(rows.map(({ scope, ...total }) => [scope, total]));
      return names.map(name => byName.get(name) ?? { clicks: 0, bots: 0, suspicious: 0, lastClickAt: null });
    },
    ranking: (question: RankingQuestion): Promise<RankedLink[]> =>
      ask<RankedLink>(table => rankingText(table, question)),
    ledger: (from: number, to: number): Promise<LedgerRow[]> =>
      ask<LedgerRow>(table =>
        ledgerText(table, `rows.hour >= ${secondsOf(from)} AND rows.hour < ${secondsOf(to)}`),
      ),
    /** The names of producers may be followed by a partition's. */
    ledgerOf: (producers: readonly string[], { from, to }: TimeRange): Promise<LedgerRow[]> =>
      ask<LedgerRow>(table =>
        ledgerText(
          table,
          `(rows.hour >= ${secondsOf(from)} AND rows.hour < ${secondsOf(to)}
            OR substringIndex(name, '/', 1) IN ${quotedList(producers)})`,
        ),
      ),
    producers: (): Promise<CountedProducer[]> =>
      ask<CountedProducer>(
        table => `
        SELECT name AS producer, max(position) AS sequence FROM ${table('ledger')}
        WHERE kind = 'producer' GROUP BY producer ORDER BY producer`,
      ),
    async positions(): Promise<ReadonlyMap<string, number>> {
      const rows = await ask<{ name: string; position: number }>(
        table => `
        SELECT name, max(rows.position) AS position FROM ${table('ledger')} AS rows WHERE kind = 'partition' GROUP BY name`,
      );
      return new Map(rows.map(({ name, position }) => [name, position]));
    },
    async earliest(): Promise<number | undefined> {
      const [row] = await ask<{ rows: number; day: number }>(
        table => `
        SELECT count() AS rows, toUnixTimestamp(toStartOfDay(min(start))) * 1000 AS day FROM ${table('quarters')}`,
      );
      return row === undefined || row.rows === 0 ? undefined : row.day;
    },
    async forgottenBefore(code: string): Promise<number> {
      await generations.ready();
      const [row] = await clickHouse.rows<{ at: number }>(
        `SELECT max(at_ms) AS at FROM forgotten WHERE code = ${quoted(code)}`,
      );
      return row?.at ?? 0;
    },
    /** Single clicks beside counts, hour by hour; codes have no colon, and all other scopes do. */
    hourSums: (from: number, to: number): Promise<HourSum[]> =>
      ask<HourSum>(table => hourSumsText(table, from, to)),
  };
}

type TableNames = (table: GenerationTable) => string;

/** The lists of an owner's days say which links the owner has; how often they were followed, by their own rows. */
function rankingText(table: TableNames, { ownerId, order, after, limit, codes }: RankingQuestion): string {
  const owner = quoted(scopeName({ kind: 'owner', ownerId }));
  const among = (column: string): string =>
    codes === undefined ? '' : `AND ${column} IN ${quotedList(codes)}`;
  const [comparison, direction] = order === 'most' ? ['<', 'DESC'] : ['>', 'ASC'];
  const behind =
    after === undefined ? '' : `AND (clicks, code) ${comparison} (${after.clicks}, ${quoted(after.code)})`;
  return `
    SELECT code, clicks FROM (
      SELECT scope AS code, sum(clicks) AS clicks FROM ${table('quarters')}
      WHERE scope IN (
        SELECT value FROM ${table('dimensions')} WHERE scope = ${owner} AND dimension = 'link' ${among('value')}
      ) ${among('scope')} GROUP BY scope
    ) AS links WHERE clicks > 0 ${behind}
    ORDER BY clicks ${direction}, code ${direction} LIMIT ${limit}`;
}

const ledgerText = (table: TableNames, condition: string): string => `
  SELECT toUnixTimestamp(hour) * 1000 AS hour, name AS producer,
    sum(counted) AS counted, sum(skipped) AS skipped, sum(duplicates) AS duplicates
  FROM ${table('ledger')} AS rows WHERE kind = 'hour' AND ${condition}
  GROUP BY hour, producer ORDER BY hour, producer`;

function hourSumsText(table: TableNames, from: number, to: number): string {
  const within = `at >= fromUnixTimestamp64Milli(${from}) AND at < fromUnixTimestamp64Milli(${to})`;
  return `
    SELECT toUnixTimestamp(hour) * 1000 AS hour, sum(counted) AS counted, sum(forgotten) AS forgotten, sum(kept) AS kept
    FROM (
      SELECT toStartOfHour(at) AS hour, 0 AS counted, 0 AS forgotten, count() AS kept FROM ${table('clicks')}
      WHERE ${within} GROUP BY hour
      UNION ALL
      SELECT toStartOfHour(at), 0, count(), 0 FROM ${table('clicks')} AS clicks
      INNER JOIN (SELECT code, max(at_ms) AS mark FROM forgotten GROUP BY code) AS marks ON marks.code = clicks.code
      WHERE code IN (SELECT code FROM forgotten) AND ${within} AND toUnixTimestamp64Milli(at) < mark GROUP BY 1
      UNION ALL
      SELECT toStartOfHour(start), sum(clicks + bots), 0, 0 FROM ${table('quarters')}
      WHERE start >= ${secondsOf(from)} AND start < ${secondsOf(to)} AND position(scope, ':') = 0 GROUP BY 1
    ) AS sums GROUP BY hour ORDER BY hour`;
}

/** Whole seconds that a column of times can be compared with. */
const latestSecond = 2 ** 32 - 1;
const secondsOf = (at: number): number => Math.min(latestSecond, Math.max(0, Math.ceil(at / 1_000)));

/**
 * Single clicks of one link, as lines of text, a piece at a time, in the order in which they happened. A piece
 * continues behind the last click of the one before, so nothing is kept for a client that reads slowly or stops.
 */
/** About a quarter of a megabyte of text. */
const pieceClicks = 1_000;

interface Row {
  readonly atMs: number;
  readonly producer: string;
  readonly sequence: number;
  readonly [field: string]: string | number;
}

export async function exportPart(
  clickHouse: ClickHouse,
  generation: number,
  filter: ExportFilter,
  cursor: ExportCursor | undefined,
  forgottenBefore: number,
): Promise<ExportPart> {
  const from = Math.max(filter.from, forgottenBefore, cursor?.position ?? 0);
  // Where the last piece ended: a time, and the producer of the click with its number.
  const behind =
    cursor === undefined
      ? ''
      : `AND (at, producer, sequence) > (${time(cursor.position)}, ${quoted(cursor.partition)}, ${cursor.clicks})`;
  const rows = await clickHouse.rows<Row>(`
    SELECT toUnixTimestamp64Milli(at) AS atMs, code, kind, leftPad(lower(hex(visitor)), 16, '0') AS visitor,
      city, referrer, agent AS userAgent, signal, producer, sequence, ${exportedColumns.join(', ')}
    FROM ${tableName('clicks', generation)}
    WHERE code = ${quoted(filter.code)} AND at >= ${time(from)} AND at < ${time(filter.to)} ${behind}
    ORDER BY code, at, producer, sequence LIMIT ${pieceClicks}`);
  const lines = rows.map(({ atMs, producer: _, sequence: __, ...fields }) =>
    exportLine({ at: new Date(atMs).toISOString(), ...(fields as ExportFields) }, filter.format),
  );
  const last = rows.length === pieceClicks ? rows.at(-1) : undefined;
  return {
    text: (cursor === undefined ? exportHead(filter.format) : '') + lines.join(''),
    next: last && { partition: last.producer, position: last.atMs, clicks: last.sequence },
  };
}

/** As much as a column of times can be compared with. */
const latestMs = Date.UTC(2200, 0);
const time = (at: number): string =>
  `fromUnixTimestamp64Milli(${Math.min(latestMs, Math.max(0, Math.floor(at)))}, 'UTC')`;
