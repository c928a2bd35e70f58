/**
 * What an owner sees: counts in buckets of the time zone they live in, uniques, and where clicks came from. All
 * of it is added up from aggregates. Every bucket of the range is there, empty ones too, so that a chart of the
 * answer is right; those whose clicks may still be on their way are marked as filling.
 */
import type { DimensionCounts, Grain, Scope, ScopeTotal, Warehouse } from './warehouse.ts';
import { bucketStarts, type Interval } from './zone.ts';

export type StatsSource = Pick<Warehouse, 'series' | 'clicksIn' | 'uniques' | 'dimensions' | 'total'>;

export interface StatsQuery {
  /** More than one is added up; visitors of several links are merged, not added. */
  readonly scopes: readonly Scope[];
  readonly from: number;
  readonly to: number;
  readonly interval: Interval;
  /** An IANA name such as `Europe/Berlin`. */
  readonly timeZone: string;
  readonly now: number;
}

export interface Stats {
  readonly totalClicks: number;
  readonly botClicks: number;
  /** Of the total, those that are suspicious. */
  readonly suspiciousClicks: number;
  readonly clicks24h: number;
  readonly uniqueVisitors: number;
  readonly series: readonly SeriesBucket[];
  readonly dimensions: DimensionCounts;
  readonly lastClickAt: number | null;
}

export interface SeriesBucket {
  readonly start: number;
  readonly clicks: number;
  readonly botClicks: number;
  readonly suspiciousClicks: number;
  /** More clicks may still arrive. */
  readonly filling: boolean;
}

export const seriesBucketsMax = 10_000;
export const fillingMs = 2 * 60_000;
const topMax = 20;
const dayMs = 24 * 60 * 60_000;

export async function readStats(source: StatsSource, query: StatsQuery): Promise<Stats> {
  const { scopes, from, to, now } = query;
  // All at once, for a source that is asked over a network.
  const [series, clicks24h, totals, uniqueVisitors, dimensions] = await Promise.all([
    readSeries(source, query),
    source.clicksIn(scopes, now - dayMs, now + 60_000),
    Promise.all(scopes.map(scope => source.total(scope))),
    source.uniques(scopes, from, to),
    source.dimensions(scopes, from, to, topMax),
  ]);
  return {
    totalClicks: series.reduce((sum, { clicks }) => sum + clicks, 0),
    botClicks: series.reduce((sum, { botClicks }) => sum + botClicks, 0),
    suspiciousClicks: series.reduce((sum, { suspiciousClicks }) => sum + suspiciousClicks, 0),
    clicks24h,
    uniqueVisitors,
    series,
    dimensions,
    lastClickAt: newest(totals),
  };
}

async function readSeries(source: StatsSource, query: StatsQuery): Promise<SeriesBucket[]> {
  const { scopes, from, to, interval, timeZone, now } = query;
  const starts = bucketStarts(from, to, interval, timeZone, seriesBucketsMax);
  const clicks = new Float64Array(starts.length);
  const bots = new Float64Array(starts.length);
  const suspicious = new Float64Array(starts.length);
  for (const scope of scopes) {
    let position = 0;
    for (const bucket of await source.series(scope, grainFor(interval, timeZone, from, to), from, to)) {
      while (position + 1 < starts.length && starts[position + 1]! <= bucket.start) position += 1;
      clicks[position]! += bucket.clicks;
      bots[position]! += bucket.bots;
      suspicious[position]! += bucket.suspicious;
    }
  }
  return starts.map((start, index) => ({
    start,
    clicks: clicks[index]!,
    botClicks: bots[index]!,
    suspiciousClicks: suspicious[index]!,
    filling: (starts[index + 1] ?? to) > now - fillingMs,
  }));
}

/** Days of UTC are stored as such; days elsewhere and hours are added up from quarter hours, which fit every zone. */
function grainFor(interval: Interval, timeZone: string, from: number, to: number): Grain {
  if (interval === 'day' && timeZone === 'UTC' && from % dayMs === 0 && to % dayMs === 0) return 'day';
  const quarterAligned = from % (15 * 60_000) === 0 && to % (15 * 60_000) === 0;
  return interval !== 'minute' && quarterAligned ? 'quarter' : 'minute';
}

function newest(totals: readonly ScopeTotal[]): number | null {
  return totals.reduce<number | null>(
    (latest, { lastClickAt }) => Math.max(latest ?? 0, lastClickAt ?? 0) || null,
    null,
  );
}
