/**
 * Rows of counts and of lists in one form (d for the dimension, v for the value; c, b and s for clicks, bots and
 * suspicious clicks), added up, sorted and cut by one query, wherever they come from. What a query costs here is mostly
 * its planning, so one is better than several.
 */
import {
  type ClickHouse,
  quoted,
  quotedList,
  type Settings,
} from '../../../engines/clickhouse/clickhouse.ts';
import { type Dimension, type DimensionName, dimensionOf } from '../../dimensions.ts';
import {
  type Breakdown,
  type BreakdownPage,
  type Counts,
  type Grain,
  grainMs,
  type TimeRange,
} from '../../warehouse.ts';
import { dimensionNumber, groupedBy, tableName } from './columns.ts';
import { type ScopeConditions, singlesText } from './singles.ts';
import type { Generation } from './upgrade.ts';

/** In place of a dimension: counts of the range, with starts of buckets as values, and counts of what lists cover. */
const ofSeries = -1;
const ofListed = -2;
/** A dimension that every click has, so that its list adds up to the clicks, and the place of that sum. */
export const complete: DimensionName = 'device';
const ofComplete = -3;

const numberOf = (name: DimensionName): number => dimensionNumber(dimensionOf(name));
const zero: Counts = { clicks: 0, bots: 0, suspicious: 0 };

/** `place` is the breakdown's, or one of the numbers above. */
interface Row extends Counts {
  readonly place: number;
  readonly total: number;
  /** Clicks, negative to sort by, and a value. */
  readonly top: readonly (readonly [number, string])[];
  /** The start, and counts. */
  readonly buckets: readonly (readonly [string, number, number, number])[];
}

/** What a question found. */
export class Pages {
  readonly counts: Counts;
  readonly #rows: ReadonlyMap<number, Row>;
  readonly #series: ReadonlyMap<number, Counts>;
  /** Of the range that lists cover. */
  readonly #listed: Counts;

  constructor(rows: readonly Row[]) {
    this.#rows = new Map(rows.map(row => [row.place, row]));
    this.counts = countsOf(this.#rows.get(ofSeries));
    this.#listed = this.#rows.has(ofListed) ? countsOf(this.#rows.get(ofListed)) : this.counts;
    const buckets = this.#rows.get(ofSeries)?.buckets ?? [];
    this.#series = new Map(
      buckets.map(([start, clicks, bots, suspicious]) => [
        Number(start) * 1_000,
        { clicks, bots, suspicious },
      ]),
    );
  }

  bucketAt(start: number): Counts {
    return this.#series.get(start) ?? zero;
  }

  /** A block of clicks that arrives meanwhile is in one table sooner than in another. */
  get isTorn(): boolean {
    return countsOf(this.#rows.get(ofComplete)).clicks !== this.#listed.clicks;
  }

  pageOf({ dimension, offset, limit, search }: Breakdown, place: number): BreakdownPage {
    const row = this.#rows.get(place);
    const values = (row?.top ?? []).map(([negative, value]) => ({ value, clicks: -negative }));
    // Empty values are not kept: they are the rest.
    const hasEmpty = dimension !== 'bot' && dimension !== 'link' && search === '';
    const rest = hasEmpty ? this.#listed.clicks - (row?.clicks ?? 0) : 0;
    if (rest > 0) {
      const behind = values.findIndex(({ clicks }) => clicks <= rest);
      values.splice(behind === -1 ? values.length : behind, 0, { value: '', clicks: rest });
    }
    return { values: values.slice(offset, offset + limit), total: (row?.total ?? 0) + (rest > 0 ? 1 : 0) };
  }
}

const countsOf = (row: Counts | undefined): Counts =>
  row === undefined ? zero : { clicks: row.clicks, bots: row.bots, suspicious: row.suspicious };

export async function readPages(
  clickHouse: ClickHouse,
  sources: readonly string[],
  breakdowns: readonly Breakdown[],
  settings: Settings = {},
): Promise<Pages> {
  if (sources.length === 0) return new Pages([]);
  return new Pages(await clickHouse.rows<Row>(pagesText(sources, breakdowns), { settings }));
}

function pagesText(sources: readonly string[], breakdowns: readonly Breakdown[]): string {
  const places = new Map([
    [ofSeries, [ofSeries]],
    [ofListed, [ofListed]],
    [numberOf(complete), [ofComplete]],
  ]);
  for (const [place, { dimension }] of breakdowns.entries()) {
    const known = places.get(numberOf(dimension));
    if (known === undefined) places.set(numberOf(dimension), [place]);
    else known.push(place);
  }
  const placesOf = [...places].map(([d, list]) => `d = ${d}, [${list.join(', ')}]`);
  const searched = breakdowns.flatMap(({ search }, place) =>
    search === '' ? [] : [`place = ${place}, position(lowerUTF8(v), ${quoted(search.toLowerCase())}) > 0`],
  );
  const isFound = searched.length === 0 ? '1' : `multiIf(${searched.join(', ')}, 1)`;
  const rowsMax = Math.max(1, ...breakdowns.map(({ offset, limit }) => offset + limit));
  return `
    SELECT CAST(arrayJoin(multiIf(${placesOf.join(', ')}, [])), 'Int32') AS place,
      sum(sc) AS clicks, sum(sb) AS bots, sum(ss) AS suspicious, countIf(${isFound}) AS total,
      groupArraySortedIf(${rowsMax})((-toInt64(sc), v), place >= 0 AND ${isFound}) AS top,
      groupArrayIf((v, sc, sb, ss), place = ${ofSeries}) AS buckets
    FROM (
      SELECT d, v, sum(c) AS sc, sum(b) AS sb, sum(s) AS ss
      FROM (${sources.join(' UNION ALL ')}) GROUP BY d, v)
    GROUP BY place`;
}

/** Counts of the range, from quarter hours, and minutes where it begins or ends or has buckets between them. */
export function countSources(
  generation: number,
  scopes: readonly string[],
  { from, to }: TimeRange,
  starts: readonly number[],
): string[] {
  return rangeSources(generation, scopes, { from, to }, starts, ofSeries);
}

/** Counts of what lists cover. */
export const listedSources = (generation: number, scopes: readonly string[], range: TimeRange): string[] =>
  rangeSources(generation, scopes, range, [], ofListed);

function rangeSources(
  generation: number,
  scopes: readonly string[],
  { from, to }: TimeRange,
  starts: readonly number[],
  d: number,
): string[] {
  const isByQuarter = starts.slice(1).every(start => start % grainMs.quarter === 0);
  const spans = spansOf(from, to, isByQuarter ? ['quarter', 'minute'] : ['minute']);
  return (['quarter', 'minute'] as const).flatMap(grain => {
    const own = spans.filter(span => span.grain === grain);
    if (own.length === 0) return [];
    return [
      `SELECT toInt8(${d}) AS d, toString(${bucketOf('start', starts)}) AS v, clicks AS c, bots AS b, suspicious AS s
      FROM ${tableName(grain === 'quarter' ? 'quarters' : 'minutes', generation)}
      WHERE scope IN ${quotedList(scopes)} AND (${own.map(span => withinText('start', span)).join(' OR ')})`,
    ];
  });
}

/** The start of the bucket that a time is in, in seconds. */
const bucketOf = (column: string, starts: readonly number[]): string =>
  starts.length === 0
    ? 'materialize(toUInt32(0))'
    : `roundDown(toUnixTimestamp(${column}), [${starts.map(start => start / 1_000).join(', ')}])`;

const withinText = (column: 'start' | 'day', { from, to }: TimeRange): string => {
  const literal = (at: number): string =>
    column === 'day' ? `toDate(${at / grainMs.day})` : `toDateTime(${at / 1_000}, 'UTC')`;
  return `(${column} >= ${literal(from)} AND ${column} < ${literal(to)})`;
};

/** Lists of whole days and of quarter hours. */
export function listSources(
  generation: number,
  scopes: readonly string[],
  { days, quarters }: ListSpans,
  listed: readonly DimensionName[],
): string[] {
  const source = (table: 'dimensions' | 'lists', column: 'day' | 'start', spans: readonly TimeRange[]) =>
    spans.length === 0
      ? []
      : [
          `SELECT CAST(dimension, 'Int8') AS d, value AS v, clicks AS c, toUInt64(0) AS b, toUInt64(0) AS s
          FROM ${tableName(table, generation)}
          WHERE scope IN ${quotedList(scopes)} AND (${spans.map(span => withinText(column, span)).join(' OR ')})
            AND dimension IN ${quotedList(listed)} AND value != ''`,
        ];
  return [...source('dimensions', 'day', days), ...source('lists', 'start', quarters)];
}

export interface SinglesQuery extends ScopeConditions {
  readonly condition: string;
  readonly listed: readonly DimensionName[];
}

/** Counts of single clicks. */
export function singleCounts(
  generation: Generation,
  { condition, weight }: SinglesQuery,
  starts: readonly number[],
): string {
  const columns = `${bucketOf('at', starts)} AS bucket, kind = 'human' AS isHuman, signal != 'none' AS isSuspicious, ${weight} AS weight`;
  return `
    SELECT toInt8(${ofSeries}) AS d, toString(bucket) AS v, sumIf(weight, isHuman) AS c, sumIf(weight, NOT isHuman) AS b,
      sumIf(weight, isHuman AND isSuspicious) AS s
    FROM (${singlesText(generation, columns, condition)}) GROUP BY bucket`;
}

/** Lists of single clicks: each dimension is counted by itself, and only what is listed of it. */
export function singleLists(generation: Generation, query: SinglesQuery): string[] {
  const { condition, listed, weight, linkWeight } = query;
  const words = listed.filter(name => name !== 'bot' && name !== 'link').map(dimensionOf);
  const grouped = (names: readonly Dimension[], isCounted: string, weighed: string): string[] => {
    if (names.length === 0) return [];
    const columns = names.map(({ column }) => column);
    const { dimension, value } = groupedBy(names, String(dimensionNumber(names[0]!)));
    const selected = [...columns, ...(weighed === '1' ? [] : [`${weighed} AS weight`])].join(', ');
    return [
      `SELECT toInt8(${dimension}) AS d, ${value} AS v, ${weighed === '1' ? 'count()' : 'sum(weight)'} AS c,
        toUInt64(0) AS b, toUInt64(0) AS s
      FROM (${singlesText(generation, selected, `${condition} AND ${isCounted}`)})
      GROUP BY GROUPING SETS (${columns.map(column => `(${column})`).join(', ')})
      HAVING c > 0 AND v != ''`,
    ];
  };
  const only = (name: DimensionName): Dimension[] => (listed.includes(name) ? [dimensionOf(name)] : []);
  return [
    ...grouped(words, `kind = 'human'`, weight),
    ...grouped(only('link'), `kind = 'human'`, linkWeight),
    ...grouped(only('bot'), `kind != 'human'`, weight),
  ];
}

/** A range of time, cut so that it is read from as few rows as can be. */
export interface Span extends TimeRange {
  readonly grain: Grain;
}

const coarseToFine: readonly Grain[] = ['day', 'quarter', 'minute'];

/** Whole days, then the quarter hours that are left at both ends, and of those the minutes. */
export function spansOf(from: number, to: number, grains: readonly Grain[] = coarseToFine): Span[] {
  const [grain, ...finer] = grains;
  if (grain === undefined || from >= to) return [];
  const first = Math.ceil(from / grainMs[grain]) * grainMs[grain];
  const last = Math.floor(to / grainMs[grain]) * grainMs[grain];
  if (first >= last) return spansOf(from, to, finer);
  return [{ grain, from: first, to: last }, ...spansOf(from, first, finer), ...spansOf(last, to, finer)];
}

export interface ListSpans {
  readonly days: readonly TimeRange[];
  readonly quarters: readonly TimeRange[];
  /** What only single clicks have. */
  readonly singles: readonly TimeRange[];
  /** The range as far as lists cover it, when that is more than was asked for: of whole days up to `until`. */
  readonly widened: (TimeRange & { readonly until: number }) | undefined;
}

/**
 * Where lists of a range are read. By the quarter hour they are complete from `listsFrom` on; before it, the ends of a
 * range that are no whole days are read from single clicks, and when those are gone, lists are of the whole days.
 */
export function listSpansOf({ from, to }: TimeRange, listsFrom: number, singlesFrom: number): ListSpans {
  const [days, quarters, singles]: TimeRange[][] = [[], [], []];
  const widened = new Map<number, TimeRange>();
  for (const span of spansOf(from, to)) {
    if (span.grain === 'day') days!.push(span);
    else if (span.from < listsFrom && span.from < singlesFrom) {
      const start = Math.floor(span.from / grainMs.day) * grainMs.day;
      widened.set(start, { from: start, to: start + grainMs.day });
    } else if (span.from < listsFrom || span.grain === 'minute') singles!.push(span);
    else quarters!.push(span);
  }
  const whole = [...widened.values()];
  const until = Math.max(0, ...whole.map(day => day.to));
  const range = { from: Math.min(from, ...whole.map(day => day.from)), to: Math.max(to, until), until };
  return {
    days: [...days!, ...whole],
    quarters: quarters!,
    singles: singles!,
    widened: until === 0 ? undefined : range,
  };
}
