/**
 * Unique visitors, the same number to the last one as a `Sketch` of them would give: it depends on the set of tokens
 * alone. Ranks come first, which are a bounded amount for any number of visitors. Only when they do not prove that there
 * are more visitors than a sketch keeps one by one are the tokens themselves asked for, of which there are few then.
 */
import { bitsOf } from '../../../engines/clickhouse/bitmap-state.ts';
import { type ClickHouse, quotedList } from '../../../engines/clickhouse/clickhouse.ts';
import { Sketch } from '../../sketch/sketch.ts';
import { estimateVisitors, rankMax, registerCount } from '../../sketch/token.ts';
import { type Grain, grainMs } from '../../warehouse.ts';
import { type GenerationTable, rankIn, tableName, tokenIn, visitorsKept } from './columns.ts';
import { type Span, spansOf } from './spans.ts';

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
  const [row] = await clickHouse.rows<{ merged: string }>(mergedText(query, spans));
  return estimateOf(row!.merged, () => tokensOf(clickHouse, query, spans));
}

/** Of single clicks; `singles` selects the hashes of people's. */
export async function countVisitorsIn(clickHouse: ClickHouse, singles: string): Promise<number> {
  const [row] = await clickHouse.rows<{ merged: string; tokens: number[] }>(`
    SELECT hex(groupBitmapState(${rankIn('token')})) AS merged, groupUniqArray(${visitorsKept})(token) AS tokens
    FROM (SELECT ${tokenIn('visitor')} AS token FROM (${singles}))`);
  return estimateOf(row!.merged, async () => row!.tokens);
}

/** `tokens` gives all of them, or as many as a sketch no longer keeps. */
async function estimateOf(merged: string, tokens: () => Promise<number[]>): Promise<number> {
  const { histogram, ranks } = reachedIn(bitsOf(merged, (rankMax + 1) * registerCount));
  // Every rank is that of some visitor, so there are at least as many of them.
  if (ranks < visitorsKept) {
    const kept = await tokens();
    if (kept.length < visitorsKept) return sketchOf(kept).estimate();
  }
  return Math.round(estimateVisitors(histogram));
}

/** How many registers reach each rank and no higher, and how many ranks were seen in all; `bits` are in the order of `rankIn`. */
function reachedIn(bits: Uint32Array): { histogram: Int32Array; ranks: number } {
  const histogram = new Int32Array(rankMax + 1);
  const reached = new Uint32Array(registerCount / 32);
  let [empty, ranks] = [registerCount, 0];
  for (let rank = rankMax; rank > 0; rank -= 1) {
    for (const [word, before] of reached.entries()) {
      const seen = bits[rank * reached.length + word]!;
      if (seen === 0) continue;
      ranks += onesIn(seen);
      histogram[rank]! += onesIn(seen & ~before);
      reached[word] = before | seen;
    }
    empty -= histogram[rank]!;
  }
  histogram[0] = empty;
  return { histogram, ranks };
}

/** How many bits of a word are set: added up in pairs, in fours, in bytes, and then all bytes at once. */
function onesIn(word: number): number {
  const pairs = word - ((word >>> 1) & 0x5555_5555);
  const fours = (pairs & 0x3333_3333) + ((pairs >>> 2) & 0x3333_3333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24;
}

function sketchOf(tokens: readonly number[]): Sketch {
  const sketch = new Sketch();
  for (const token of tokens) sketch.addToken(token);
  return sketch;
}

function mergedText(query: VisitorsQuery, spans: readonly Span[]): string {
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
  return `SELECT hex(groupBitmapMergeState(ranks)) AS merged FROM (${sources.join(' UNION ALL ')})`;
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
