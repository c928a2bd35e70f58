/**
 * Statistics as an owner sees them: counts in buckets of the owner's time zone, visitors, and where clicks came from.
 * The counts, the visitors and the lists of a range come from one answer of the warehouse, so they agree exactly. Empty
 * buckets are included, so that a chart of the answer is right; buckets for which clicks may still arrive are marked as
 * filling.
 */
import type { Clock } from '../base/clock.ts';
import { bucketStarts, type Interval } from '../base/zone.ts';
import type { LinkEntry } from './click.ts';
import type { HourComparison } from './compare-hours.ts';
import { type DimensionName, dimensionNames, type ValueCount } from './dimensions.ts';
import type { WatchList } from './live.ts';
import type { Reconciliation } from './reconcile.ts';
import type {
  Answer,
  Breakdown,
  BreakdownPage,
  Filter,
  Question,
  RankedLink,
  RankingQuestion,
  RecentClicks,
  RecentQuestion,
  Scope,
  ScopeTotal,
  TimeRange,
  Warehouse,
} from './warehouse.ts';

export type StatsSource = Pick<Warehouse, 'answer' | 'answerAll' | 'totals'>;

/** Which clicks a question is about. */
export interface ClickSelection extends TimeRange {
  /** More than one is added up; visitors of several links are merged, not added. */
  readonly scopes: readonly Scope[];
  /** A click must match all of them. */
  readonly filters: readonly Filter[];
}

export interface StatsQuery extends ClickSelection {
  readonly interval: Interval;
  /** An IANA name such as `Europe/Berlin`. */
  readonly timeZone: string;
  /** A second range, of the same clicks otherwise. */
  readonly comparison?: TimeRange | undefined;
  readonly now: number;
}

export interface BreakdownQuery extends ClickSelection {
  readonly breakdown: Breakdown;
}

/** Which part of its range an answer covers. */
export interface Coverage {
  readonly source: Answer['source'];
  /** Clicks before this are missing, because single clicks are no longer kept; null when none are. */
  readonly coveredFrom: number | null;
  /** Lists cover whole UTC days up to here; null when they cover exactly the range. */
  readonly listsByDayUntil: number | null;
}

export interface Stats extends Coverage {
  /** Of all time, whatever the range and the filters, like the next two. */
  readonly totalClicks: number;
  readonly botClicks: number;
  /** Of the total, those that are suspicious. */
  readonly suspiciousClicks: number;
  readonly clicks24h: number;
  readonly range: RangeSums;
  readonly series: readonly SeriesBucket[];
  /** The most frequent values of each dimension. */
  readonly dimensions: Readonly<Record<DimensionName, readonly ValueCount[]>>;
  readonly comparison: RangeComparison | null;
  readonly lastClickAt: number | null;
}

/** The sums of the series, and the visitors of the same range. */
export interface RangeSums {
  readonly clicks: number;
  readonly botClicks: number;
  readonly suspiciousClicks: number;
  readonly visitors: number;
}

export interface RangeComparison extends RangeSums, TimeRange, Pick<Coverage, 'coveredFrom'> {
  readonly series: readonly SeriesBucket[];
}

export interface CoveredPage extends BreakdownPage, Coverage {}

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
/** Values in each list of an answer. */
export const listedMax = 20;
export const fillingMs = 2 * 60_000;
const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

const topLists = dimensionNames.map(dimension => ({ dimension, offset: 0, limit: listedMax, search: '' }));

/** A source that cannot answer all questions at one moment is queried over a network: in parallel. */
async function askAll(
  source: StatsSource,
  questions: readonly Question[],
  scopes: readonly Scope[],
): Promise<{ readonly answers: readonly Answer[]; readonly totals: readonly ScopeTotal[] }> {
  if (source.answerAll !== undefined) return source.answerAll(questions, scopes);
  const [totals, ...answers] = await Promise.all([
    source.totals(scopes),
    ...questions.map(question => source.answer(question)),
  ]);
  return { answers, totals };
}

export async function readStats(source: StatsSource, query: StatsQuery): Promise<Stats> {
  const { scopes, filters, comparison, now } = query;
  // The minute in progress is the last of the 24 hours.
  const end = Math.floor(now / minuteMs) * minuteMs + minuteMs;
  const lastDay = { scopes, from: end - dayMs, to: end, starts: [], filters: [], breakdowns: [] };
  const questionOf = (range: TimeRange, breakdowns: readonly Breakdown[]): Question => {
    const { from, to } = range;
    return { scopes, from, to, starts: startsOf(range, query), filters, breakdowns };
  };
  const compares = comparison === undefined ? [] : [questionOf(comparison, [])];
  const { answers, totals } = await askAll(
    source,
    [questionOf(query, topLists), lastDay, ...compares],
    scopes,
  );
  const [answer, recent, compared] = answers as [Answer, Answer, Answer?];
  const total = sumOf(totals);
  const lists = dimensionNames.map((name, index) => [name, answer.breakdowns[index]!.values]);
  return {
    totalClicks: total.clicks,
    botClicks: total.bots,
    suspiciousClicks: total.suspicious,
    clicks24h: recent.counts.clicks,
    range: sumsOf(answer),
    series: seriesOf(answer, query, query),
    dimensions: Object.fromEntries(lists) as Stats['dimensions'],
    comparison:
      comparison === undefined || compared === undefined
        ? null
        : {
            ...comparison,
            ...sumsOf(compared),
            series: seriesOf(compared, comparison, query),
            coveredFrom: coverageOf(compared, comparison).coveredFrom,
          },
    ...coverageOf(answer, query),
    lastClickAt: total.lastClickAt,
  };
}

/** A page of the values of one dimension. */
export async function readBreakdown(source: StatsSource, query: BreakdownQuery): Promise<CoveredPage> {
  const { scopes, from, to, filters, breakdown } = query;
  const answer = await source.answer({ scopes, from, to, starts: [], filters, breakdowns: [breakdown] });
  return { ...answer.breakdowns[0]!, ...coverageOf(answer, query) };
}

const startsOf = ({ from, to }: TimeRange, { interval, timeZone }: StatsQuery): number[] =>
  bucketStarts(from, to, interval, timeZone, seriesBucketsMax);

function seriesOf({ series }: Answer, range: TimeRange, query: StatsQuery): SeriesBucket[] {
  const starts = startsOf(range, query);
  return starts.map((start, index) => {
    const { clicks, bots, suspicious } = series[index]!;
    return {
      start,
      clicks,
      botClicks: bots,
      suspiciousClicks: suspicious,
      filling: (starts[index + 1] ?? range.to) > query.now - fillingMs,
    };
  });
}

const sumsOf = ({ counts: { clicks, bots, suspicious }, visitors }: Answer): RangeSums => ({
  clicks,
  botClicks: bots,
  suspiciousClicks: suspicious,
  // Visitors are an estimate, which may exceed the exact number of clicks.
  visitors: Math.min(visitors, clicks),
});

const coverageOf = ({ source, coveredFrom, listsByDayUntil }: Answer, { from }: TimeRange): Coverage => ({
  source,
  coveredFrom: coveredFrom > from ? coveredFrom : null,
  listsByDayUntil: listsByDayUntil > from ? listsByDayUntil : null,
});

function sumOf(totals: readonly ScopeTotal[]): ScopeTotal {
  const sum = { clicks: 0, bots: 0, suspicious: 0, lastClickAt: null as number | null };
  for (const { clicks, bots, suspicious, lastClickAt } of totals) {
    sum.clicks += clicks;
    sum.bots += bots;
    sum.suspicious += suspicious;
    if (lastClickAt !== null) sum.lastClickAt = Math.max(sum.lastClickAt ?? lastClickAt, lastClickAt);
  }
  return sum;
}

/** A link's clicks are found by its owner and its code. */
export type CountedLink = Pick<LinkEntry, 'code' | 'ownerId'>;

/** Queries about clicks, wherever the answers are computed. */
export interface ClickReports {
  stats(query: StatsQuery): Promise<Stats>;
  /** A page of the values of one dimension. */
  breakdown(query: BreakdownQuery): Promise<CoveredPage>;
  /** Single clicks, the newest first. */
  recent(question: RecentQuestion): Promise<RecentClicks>;
  /** The totals of all time of each link, in the same order. */
  totals(links: readonly CountedLink[]): Promise<ScopeTotal[]>;
  /** Clicks of people per link, in the same order: one number for each bucket. */
  clicksBy(links: readonly CountedLink[], starts: readonly number[], to: number): Promise<number[][]>;
  /** An owner's links in the order of their clicks. */
  ranking(question: RankingQuestion): Promise<RankedLink[]>;
  /** Single clicks as lines of text, a piece at a time. */
  exportPart(filter: ExportFilter, cursor: ExportCursor | undefined): Promise<ExportPart>;
  /** Whether everything recorded between two times was counted, producer by producer. */
  reconcile(from: number, to: number): Promise<Reconciliation>;
  /** Compares the numbers of each hour from different sources; with `countsStream` also those of the stream. */
  compareHours(from: number, to: number, countsStream: boolean): Promise<HourComparison[]>;
  /** Recounts the whole log and replaces the old counts. */
  recountAll(): Promise<void>;
  /** Recounts the days of some hours; returns how many clicks those hours have. */
  recountDays(from: number, to: number): Promise<number>;
  /** Deletes the clicks of a link so far. */
  forget(code: string): Promise<void>;
  readonly watchers: WatchList;
}

export interface ExportFilter extends CountedLink, TimeRange {
  readonly format: 'csv' | 'ndjson';
  /** A click has to meet all of them. */
  readonly filters?: readonly Filter[];
}

export interface ExportCursor {
  readonly partition: string;
  readonly position: number;
  /** How many clicks at that position were exported already. */
  readonly clicks: number;
}

export interface ExportPart {
  readonly text: string;
  /** Where to continue; undefined at the end. */
  readonly next: ExportCursor | undefined;
  /** In the first part: clicks of the range before this are no longer stored one by one; 0 when all of them are. */
  readonly coveredFrom?: number;
}

/**
 * Click counts of links, for answers that show them beside other data. No caller waits long for them: null means that
 * the warehouse has not answered in time. While a question that timed out is unanswered, no other is asked.
 */
/** In the order of the links. Never rejects. */
export type LinkClicks = (links: readonly CountedLink[], waitMaxMs?: number) => Promise<(number | null)[]>;

const waitMaxMsUsual = 1_000;
/** More links would make a question longer than ClickHouse reads. */
const linksPerQuestion = 1_000;

export function createLinkClicks(reports: Pick<ClickReports, 'totals'>, clock: Clock): LinkClicks {
  let lateQuestions = 0;

  const ask = async (links: readonly CountedLink[]): Promise<number[]> => {
    // Copy only what the answering thread needs.
    const counted = links.map(({ code, ownerId }) => ({ code, ownerId }));
    const parts: Promise<{ readonly clicks: number }[]>[] = [];
    for (let from = 0; from < counted.length; from += linksPerQuestion)
      parts.push(reports.totals(counted.slice(from, from + linksPerQuestion)));
    return (await Promise.all(parts)).flat().map(({ clicks }) => clicks);
  };

  return (links, waitMaxMs = waitMaxMsUsual) => {
    const unknown = links.map(() => null);
    if (links.length === 0 || lateQuestions > 0) return Promise.resolve(unknown);
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
      ask(links).then(settle, () => settle(unknown));
    });
  };
}
