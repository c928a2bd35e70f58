/**
 * Unique visitors, the same number to the last one as a `Sketch` of them would give: it depends on the set of tokens
 * alone. Ranks come first, which are a bounded amount for any number of visitors. Only when they do not prove that there
 * are more visitors than a sketch keeps one by one are the tokens themselves asked for, of which there are few then.
 */
import type { ClickHouse } from '../../../engines/clickhouse/clickhouse.ts';
import { quotedList } from '../../../engines/clickhouse/text.ts';
import { Sketch } from '../../sketch.ts';
import { estimateVisitors } from '../../sketch-estimate.ts';
import { rankMax, registerCount } from '../../sketch-token.ts';
import { type Grain, grainMs } from '../../warehouse.ts';
import { type GenerationTable, rankIn, tableName, visitorsKept } from './schema.ts';
import { type Span, spansOf } from './visitor-spans.ts';

export interface VisitorsQuery {
  readonly generation: number;
  /** Names of scopes; visitors of several are merged, not added. */
  readonly scopes: readonly string[];
  readonly from: number;
  readonly to: number;
}

export async function countVisitors(clickHouse: ClickHouse, query: VisitorsQuery): Promise<number> {
  const spans = spansOf(query.from, query.to);
  if (spans.length === 0) return 0;
  const reached = await clickHouse.rows<Reached>(ranksText(query, spans));
  // Every rank is that of some visitor, so there are at least as many of them.
  if (reached.reduce((sum, { ranks }) => sum + ranks, 0) < visitorsKept) {
    const tokens = await tokensOf(clickHouse, query, spans);
    if (tokens.length < visitorsKept) return sketchOf(tokens).estimate();
  }
  return Math.round(estimateVisitors(histogramOf(reached)));
}

interface Reached {
  /** The highest of a register. */
  readonly rank: number;
  readonly registers: number;
  /** All that were seen in these registers. */
  readonly ranks: number;
}

function histogramOf(reached: readonly Reached[]): Int32Array {
  const histogram = new Int32Array(rankMax + 1);
  histogram[0] = registerCount;
  for (const { rank, registers } of reached) {
    histogram[rank] = registers;
    histogram[0] -= registers;
  }
  return histogram;
}

function sketchOf(tokens: readonly number[]): Sketch {
  const sketch = new Sketch();
  for (const token of tokens) sketch.addToken(token);
  return sketch;
}

function ranksText(query: VisitorsQuery, spans: readonly Span[]): string {
  const of = (grain: Grain): Span[] => spans.filter(span => span.grain === grain);
  const select = (what: string, table: GenerationTable, grain: Grain, column: string): string[] =>
    of(grain).length === 0
      ? []
      : [
          `SELECT ${what} AS ranks FROM ${tableName(table, query.generation)} WHERE ${within(query, column, of(grain))}`,
        ];
  const ofMinutes = `arrayReduce('groupBitmapState', arrayMap(token -> ${rankIn('token')}, visitors))`;
  const sources = [
    ...select('ranks', 'days', 'day', 'day'),
    ...select('ranks', 'quarters', 'quarter', 'start'),
    ...select(ofMinutes, 'minutes', 'minute', 'start'),
  ];
  return `
    SELECT rank, count() AS registers, sum(seen) AS ranks FROM (
      SELECT pair % ${registerCount} AS register, max(intDiv(pair, ${registerCount})) AS rank, count() AS seen
      FROM (
        SELECT arrayJoin(bitmapToArray(merged)) AS pair FROM (
          SELECT groupBitmapMergeState(ranks) AS merged FROM (${sources.join(' UNION ALL ')})))
      GROUP BY register)
    GROUP BY rank`;
}

/** At most one more than a sketch keeps. Days have none of their own: those of their quarter hours are the same. */
async function tokensOf(
  clickHouse: ClickHouse,
  query: VisitorsQuery,
  spans: readonly Span[],
): Promise<number[]> {
  const sources = [
    { table: 'quarters', spans: spans.filter(({ grain }) => grain !== 'minute') },
    { table: 'minutes', spans: spans.filter(({ grain }) => grain === 'minute') },
  ] as const;
  const selects = sources
    .filter(source => source.spans.length > 0)
    .map(
      ({ table, spans: own }) =>
        `SELECT arrayJoin(visitors) AS token FROM ${tableName(table, query.generation)} WHERE ${within(query, 'start', own)}`,
    );
  const [row] = await clickHouse.rows<{ tokens: number[] }>(`
    SELECT groupArray(token) AS tokens FROM (
      SELECT DISTINCT token FROM (${selects.join(' UNION ALL ')}) LIMIT ${visitorsKept})`);
  return row?.tokens ?? [];
}

function within({ scopes }: VisitorsQuery, column: string, spans: readonly Span[]): string {
  const literal = (at: number): string =>
    column === 'day' ? `toDate(${at / grainMs.day})` : `toDateTime(${at / 1_000}, 'UTC')`;
  const ranges = spans.map(
    ({ from, to }) => `(${column} >= ${literal(from)} AND ${column} < ${literal(to)})`,
  );
  return `scope IN ${quotedList(scopes)} AND (${ranges.join(' OR ')})`;
}
