/** Totals, rankings and what was counted of whom. Rows that were not merged yet are added up. */
import { type ClickHouse, quoted, quotedList } from '../../../engines/clickhouse/clickhouse.ts';
import { dimensions, type ShownClick } from '../../dimensions.ts';
import {
  type CountedProducer,
  type HourSum,
  type LedgerRow,
  type RankedLink,
  type RankingQuestion,
  type RecentClicks,
  type RecentQuestion,
  type Scope,
  type ScopesQuestion,
  type ScopeTotal,
  scopeName,
  shownOrder,
  type TimeRange,
} from '../../warehouse.ts';
import { type AnswerTools, coverageOf } from './answer.ts';
import { type GenerationTable, tableName } from './columns.ts';
import type { Generations } from './generations.ts';
import { byKey } from './schema.ts';
import { filterConditions, scopeConditions, singlesText, whenText } from './singles.ts';
import type { Generation } from './upgrade.ts';

type Use = <Result>(work: (generation: Generation) => Promise<Result>) => Promise<Result>;

export function createReader(clickHouse: ClickHouse, generations: Generations, use: Use) {
  const ask = <Row>(queryFor: (table: TableNames) => string): Promise<Row[]> =>
    generations.use(generation =>
      clickHouse.rows<Row>(
        queryFor(table => tableName(table, generation)),
        { settings: byKey },
      ),
    );

  return {
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
    async clicksBy({ scopes, starts, to }: ScopesQuestion): Promise<number[][]> {
      const names = scopes.map(scopeName);
      const rows = await ask<{ scope: string; bucket: number; clicks: number }>(
        table => `
        SELECT scope, roundDown(toUnixTimestamp(start), [${starts.map(secondsOf).join(', ')}]) AS bucket, sum(clicks) AS clicks
        FROM ${table('quarters')}
        WHERE scope IN ${quotedList(names)} AND start >= ${secondsOf(starts[0] ?? to)} AND start < ${secondsOf(to)}
        GROUP BY scope, bucket`,
      );
      const counts = new Map(rows.map(({ scope, bucket, clicks }) => [`${scope} ${bucket}`, clicks]));
      return names.map(name => starts.map(start => counts.get(`${name} ${secondsOf(start)}`) ?? 0));
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
      use(generation => clickHouse.rows<HourSum>(hourSumsText(generation, from, to))),
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

function hourSumsText(generation: Generation, from: number, to: number): string {
  const singles = singlesText(generation, 'code, at', whenText([{ from, to }]));
  return `
    SELECT toUnixTimestamp(hour) * 1000 AS hour, sum(counted) AS counted, sum(forgotten) AS forgotten, sum(kept) AS kept
    FROM (
      SELECT toStartOfHour(at) AS hour, 0 AS counted, 0 AS forgotten, count() AS kept FROM (${singles}) GROUP BY hour
      UNION ALL
      SELECT toStartOfHour(at), 0, count(), 0 FROM (${singles}) AS clicks
      INNER JOIN (SELECT code, max(at_ms) AS mark FROM forgotten GROUP BY code) AS marks ON marks.code = clicks.code
      WHERE code IN (SELECT code FROM forgotten) AND toUnixTimestamp64Milli(at) < mark GROUP BY 1
      UNION ALL
      SELECT toStartOfHour(start), sum(clicks + bots), 0, 0 FROM ${tableName('quarters', generation.number)}
      WHERE start >= ${secondsOf(from)} AND start < ${secondsOf(to)} AND position(scope, ':') = 0 GROUP BY 1
    ) AS sums GROUP BY hour ORDER BY hour`;
}

/** Whole seconds that a column of times can be compared with. */
const latestSecond = 2 ** 32 - 1;
const secondsOf = (at: number): number => Math.min(latestSecond, Math.max(0, Math.ceil(at / 1_000)));

/**
 * The newest single clicks. The time of the oldest that is wanted is read first, from the columns of the conditions alone;
 * then whole clicks, which are few.
 */

const words = dimensions.flatMap(({ name, column }) =>
  name === 'link' || name === 'bot' ? [] : [`toString(${column}) AS ${name}`],
);
const shown = [
  'code',
  'at',
  'toString(kind) AS kindName',
  'toString(signal) AS signalName',
  ...words.map(word => word.replace(' AS ', ' AS word_')),
].join(', ');
const selected = [
  'code',
  'toUnixTimestamp64Milli(at) AS atMs',
  'kindName AS kind',
  'signalName AS signal',
  ...dimensions.flatMap(({ name }) => (name === 'link' || name === 'bot' ? [] : [`word_${name} AS ${name}`])),
  "if(kindName = 'human', '', kindName) AS bot",
].join(', ');

export async function readRecent(
  { clickHouse, keptFrom }: Pick<AnswerTools, 'clickHouse' | 'keptFrom'>,
  generation: Generation,
  question: RecentQuestion,
): Promise<RecentClicks> {
  const { scopes, from, to, filters, skip, limit } = question;
  // Clicks that an owner deleted are found below, whatever the scope.
  const { any } = scopeConditions(scopes, new Map());
  const select = (columns: string, range: { readonly from: number; readonly to: number }): string => `
    (SELECT * FROM (${singlesText(generation, columns, `${any} AND ${whenText([range])} ${filterConditions(filters)}`)}) AS clicks
    LEFT JOIN (SELECT code, max(at_ms) AS mark FROM forgotten GROUP BY code) AS marks USING (code)
    WHERE toUnixTimestamp64Milli(at) >= mark)`;
  const range = { from: Math.max(from, keptFrom), to };
  const [coveredFrom, least] = await Promise.all([
    coverageOf(clickHouse, generation, { scopes, from, to }, keptFrom),
    leastTime(clickHouse, select('code, at', range), skip + limit),
  ]);
  const rows = await clickHouse.rows<Omit<ShownClick, 'at'> & { readonly atMs: number }>(`
    SELECT ${selected} FROM ${select(shown, { ...range, from: Math.max(range.from, least) })}
    ORDER BY atMs DESC, ${shownOrder.join(', ')} LIMIT ${limit} OFFSET ${skip}`);
  return { clicks: rows.map(({ atMs, ...click }) => ({ at: atMs, ...click })), coveredFrom };
}

/** Of so many clicks, the newest first; 0 when there are fewer. */
async function leastTime(clickHouse: ClickHouse, clicks: string, count: number): Promise<number> {
  const [row] = await clickHouse.rows<{ least: number }>(
    `SELECT toUnixTimestamp64Milli(at) AS least FROM ${clicks} ORDER BY at DESC LIMIT 1 OFFSET ${count - 1}`,
  );
  return row?.least ?? 0;
}
