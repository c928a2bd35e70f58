/**
 * What an owner sees: counts in buckets of the time zone they live in, uniques, and where clicks came from. All
 * of it is added up from aggregates. Every bucket of the range is there, empty ones too, so that a chart of the
 * answer is right; those whose clicks may still be on their way are marked as filling.
 */
import type { Clock } from '../base/clock.ts';
import { bucketStarts, type Interval } from '../base/zone.ts';
import type { HourComparison } from './compare-hours.ts';
import type { DimensionCounts } from './dimensions.ts';
import type { WatchList } from './live.ts';
import type { Reconciliation } from './reconcile.ts';
import type {
  Bucket,
  Grain,
  RankedLink,
  RankingQuestion,
  Scope,
  ScopeTotal,
  TimeRange,
  Warehouse,
} from './warehouse.ts';

export type StatsSource = Pick<Warehouse, 'counts' | 'uniques' | 'dimensions'>;

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
  /** Of all time, whatever the range, like the next two. */
  readonly totalClicks: number;
  readonly botClicks: number;
  /** Of the total, those that are suspicious. */
  readonly suspiciousClicks: number;
  readonly clicks24h: number;
  readonly range: RangeSums;
  readonly series: readonly SeriesBucket[];
  readonly dimensions: DimensionCounts;
  /** The whole UTC days that the dimensions cover. */
  readonly dimensionDays: TimeRange;
  readonly lastClickAt: number | null;
}

/** What the series adds up to, and the visitors of the same time. */
export interface RangeSums {
  readonly clicks: number;
  readonly botClicks: number;
  readonly suspiciousClicks: number;
  readonly visitors: number;
}

export interface SeriesBucket {
  readonly start: number;
  readonly clicks: number;
  readonly botClicks: number;
  readonly suspiciousClicks: number;
  /** More clicks may still arrive. */
  readonly filling: boolean;
}

/** 93 days of hours, or a day and a half of minutes: some 220 kB in an answer. */
export const seriesBucketsMax = 93 * 24;
/** Buckets that are read for one answer, over all the links that it adds up. */
export const readBucketsMax = 20_000;
export const fillingMs = 2 * 60_000;
const topMax = 20;
const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

export async function readStats(source: StatsSource, query: StatsQuery): Promise<Stats> {
  const { scopes, from, to, interval, timeZone, now } = query;
  // All in parallel, for a source that is queried over a network.
  const [counts, uniqueVisitors, dimensions] = await Promise.all([
    source.counts({
      scopes,
      grain: grainFor(interval, timeZone, from, to),
      from,
      to,
      recent: { from: now - dayMs, to: now + minuteMs },
    }),
    source.uniques(scopes, from, to),
    source.dimensions(scopes, from, to, topMax),
  ]);
  const series = seriesOf(counts.series, query);
  const sumOf = (pick: (bucket: SeriesBucket) => number): number =>
    series.reduce((sum, bucket) => sum + pick(bucket), 0);
  const clicks = sumOf(bucket => bucket.clicks);
  const { total } = counts;
  return {
    totalClicks: total.clicks,
    botClicks: total.bots,
    suspiciousClicks: total.suspicious,
    clicks24h: counts.recentClicks,
    range: {
      clicks,
      botClicks: sumOf(bucket => bucket.botClicks),
      suspiciousClicks: sumOf(bucket => bucket.suspiciousClicks),
      // Clicks are exact and visitors an estimate, which may be above them, or was made a moment later.
      visitors: Math.min(uniqueVisitors, clicks),
    },
    series,
    dimensions,
    dimensionDays: { from: Math.floor(from / dayMs) * dayMs, to: Math.ceil(to / dayMs) * dayMs },
    lastClickAt: total.lastClickAt,
  };
}

/** What was counted in minutes, quarter hours or days, in the buckets that were asked for. */
function seriesOf(
  buckets: readonly Bucket[],
  { from, to, interval, timeZone, now }: StatsQuery,
): SeriesBucket[] {
  const starts = bucketStarts(from, to, interval, timeZone, seriesBucketsMax);
  const clicks = new Float64Array(starts.length);
  const bots = new Float64Array(starts.length);
  const suspicious = new Float64Array(starts.length);
  let position = 0;
  for (const bucket of buckets) {
    while (position + 1 < starts.length && starts[position + 1]! <= bucket.start) position += 1;
    clicks[position]! += bucket.clicks;
    bots[position]! += bucket.bots;
    suspicious[position]! += bucket.suspicious;
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

/** Queries about clicks, wherever the answers are computed. */
export interface ClickReports {
  stats(query: StatsQuery): Promise<Stats>;
  /** All that was ever counted of each link, in the same order. */
  totals(codes: readonly string[]): Promise<ScopeTotal[]>;
  /** An owner's links in the order of their clicks. */
  ranking(question: RankingQuestion): Promise<RankedLink[]>;
  /** Single clicks as lines of text, a piece at a time. */
  exportPart(filter: ExportFilter, cursor: ExportCursor | undefined): Promise<ExportPart>;
  /** Whether everything noted between two times was counted, producer by producer. */
  reconcile(from: number, to: number): Promise<Reconciliation>;
  /** What different parts say about each hour; with `countsStream` also the stream, which is read for it. */
  compareHours(from: number, to: number, countsStream: boolean): Promise<HourComparison[]>;
  /** Recounts the whole log and replaces the old counts. */
  recountAll(): Promise<void>;
  /** Recounts the days of some hours; returns how many clicks those hours have. */
  recountDays(from: number, to: number): Promise<number>;
  /** Deletes what was counted of a link so far. */
  forget(code: string): Promise<void>;
  readonly watchers: WatchList;
}

export interface ExportFilter {
  readonly code: string;
  readonly from: number;
  readonly to: number;
  readonly format: 'csv' | 'ndjson';
}

export interface ExportCursor {
  readonly partition: string;
  readonly position: number;
  /** Clicks at that position that were given already. */
  readonly clicks: number;
}

export interface ExportPart {
  readonly text: string;
  /** Where to continue; undefined at the end. */
  readonly next: ExportCursor | undefined;
}

/**
 * Click counts of links, for answers that show them beside other things. No caller waits long for them: null means that
 * the warehouse has not answered in time. While it still owes an answer to a question that timed out, it is not asked
 * again.
 */
/** In the order of the codes. Never rejects. */
export type LinkClicks = (codes: readonly string[], waitMaxMs?: number) => Promise<(number | null)[]>;

const waitMaxMsUsual = 1_000;
/** More codes would make a question longer than ClickHouse reads. */
const codesPerQuestion = 1_000;

export function createLinkClicks(reports: Pick<ClickReports, 'totals'>, clock: Clock): LinkClicks {
  let lateQuestions = 0;

  const ask = async (codes: readonly string[]): Promise<number[]> => {
    const parts: Promise<{ readonly clicks: number }[]>[] = [];
    for (let from = 0; from < codes.length; from += codesPerQuestion)
      parts.push(reports.totals(codes.slice(from, from + codesPerQuestion)));
    return (await Promise.all(parts)).flat().map(({ clicks }) => clicks);
  };

  return (codes, waitMaxMs = waitMaxMsUsual) => {
    const unknown = codes.map(() => null);
    if (codes.length === 0 || lateQuestions > 0) return Promise.resolve(unknown);
    return new Promise(resolve => {
      let isLate = false;
      const cancel = clock.after(waitMaxMs, () => {
        isLate = true;
        lateQuestions += 1;
        resolve(unknown);
      });
      const settle = (clicks: (number | null)[]): void => {
        if (isLate) lateQuestions -= 1;
        cancel();
        resolve(clicks);
      };
      ask(codes).then(settle, () => settle(unknown));
    });
  };
}
