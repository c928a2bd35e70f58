/**
 * The port of the database that counts clicks. Counts and stream positions change in one transaction, or, in an engine
 * without transactions, a block is recognised by its place; so a crash or a replay never counts anything twice. Answers
 * come from aggregates, or from single clicks if there are few or a filter needs them. `warehouse.conformance.ts`
 * defines the contract.
 *
 * Everything is counted per scope: a link, an owner's whole account, or an owner's tag. An owner's numbers are
 * therefore as quick to read as a link's.
 */
import type { Clock } from '../base/clock.ts';
import { type DimensionName, dimensionNames, type ShownClick, type ValueCount } from './dimensions.ts';
import type { LogBatch } from './log.ts';
import type { SpanReplay } from './replay.ts';
import type { ExportCursor, ExportFilter, ExportPart } from './stats.ts';

export interface Warehouse {
  /** How far each partition has been counted. */
  positions(): Promise<ReadonlyMap<string, number>>;
  /**
   * Counts batches in one transaction. A batch that does not start at the position of its partition is skipped: another
   * process has counted it, or something before it is missing. Without transactions, batches that were counted only
   * partly are completed by applying exactly the same batches again.
   */
  apply(batches: readonly LogBatch[]): Promise<ApplyResult>;

  /** Counts, visitors and lists of one time range: all of the same clicks, so that they agree. */
  answer(question: Question): Promise<Answer>;
  /** Several answers, and totals, from one snapshot; only for engines that have snapshots. */
  answerAll?(
    questions: readonly Question[],
    scopes: readonly Scope[],
  ): Promise<{ readonly answers: readonly Answer[]; readonly totals: readonly ScopeTotal[] }>;
  /** Single clicks, the newest first, as long as they are kept; those of a link that its owner deleted are left out. */
  recent(question: RecentQuestion): Promise<RecentClicks>;
  total(scope: Scope): Promise<ScopeTotal>;
  /** In the order of the scopes. */
  totals(scopes: readonly Scope[]): Promise<ScopeTotal[]>;
  /** Clicks of people per scope, in the order of the scopes: one number for each bucket. */
  clicksBy(question: ScopesQuestion): Promise<number[][]>;
  /** An owner's links in the order of their clicks; links without clicks are left out. */
  ranking(question: RankingQuestion): Promise<RankedLink[]>;

  /** The counted clicks of each producer, per hour. */
  ledger(from: number, to: number): Promise<LedgerRow[]>;
  /** The rows of some hours, and all rows of some producers. */
  ledgerOf(producers: readonly string[], range: TimeRange): Promise<LedgerRow[]>;
  /** Exports single clicks, if the warehouse has them; otherwise they are read from the log. */
  exportPart?(filter: ExportFilter, cursor: ExportCursor | undefined): Promise<ExportPart>;
  /** The sums of all links in each hour, for comparing with the ledger; hours without clicks are left out. */
  hourSums(from: number, to: number): Promise<HourSum[]>;
  /** Earlier hours can no longer be compared. */
  comparableSince(): Promise<number>;
  producers(): Promise<CountedProducer[]>;

  /** Forgets all counts of a link; clicks before `at` are not counted by a replay either. */
  forget(code: string, at: number): Promise<void>;
  /** Clicks of a link before this were forgotten; 0 for none. */
  forgottenBefore(code: string): Promise<number>;
  /**
   * Recounts everything from a time on, from batches that start at the beginning of their partitions. It is one
   * transaction: queries meanwhile get the old numbers, and a failure leaves them as they were.
   */
  recountAll(plan: RecountPlan, batches: AsyncIterable<readonly LogBatch[]>): Promise<ApplyResult>;
  /**
   * Replaces the counts of whole days by those of a replay, in one step: queries meanwhile get the old numbers, and a
   * failure leaves them. Counting continues, except for the moment of the change.
   */
  recountDays(replay: SpanReplay, pause: CountingPause): Promise<void>;
  /** Forgets the counted positions of removed partitions. */
  retire(partitions: readonly string[]): Promise<void>;
  /** The state of a warehouse that is kept in a file. */
  state?(): Promise<WarehouseState>;
  /** The time of the earliest counted click; undefined when there is none. */
  earliest(): Promise<number | undefined>;
  /**
   * Does a bounded part of the maintenance: merges, removes single clicks older than `singlesFrom`, whose counts stay,
   * and minutes older than `minutesFrom` if they are kept separately. Returns how much it did; zero when nothing is
   * left.
   */
  maintain(plan: MaintenancePlan): Promise<number>;
  close(): Promise<void>;
}

export type Scope =
  /** Clicks of links without an owner are kept together. */
  | { readonly kind: 'link'; readonly code: string; readonly ownerId: string | null }
  | { readonly kind: 'owner'; readonly ownerId: string }
  | { readonly kind: 'tag'; readonly ownerId: string; readonly tag: string };

/** One string per scope; codes have no colon, so the kinds never meet. */
export function scopeName(scope: Scope): string {
  if (scope.kind === 'link') return scope.code;
  return scope.kind === 'owner' ? `owner:${scope.ownerId}` : `tag:${scope.ownerId}:${scope.tag}`;
}

/** Counts are kept per minute for a while, and permanently per quarter hour, which fits every time zone. */
export type Grain = 'minute' | 'quarter' | 'day';
export const grainMs: Readonly<Record<Grain, number>> = {
  minute: 60_000,
  quarter: 15 * 60_000,
  day: 24 * 60 * 60_000,
};

export interface TimeRange {
  readonly from: number;
  readonly to: number;
}

/**
 * All times are starts of quarter hours, or of minutes while those are kept. Several scopes are added up; their visitors
 * are merged.
 */
export interface Question extends TimeRange {
  readonly scopes: readonly Scope[];
  /** Where the buckets of the series begin, in order, the first at `from`; empty for no series. */
  readonly starts: readonly number[];
  /** A click has to meet all of them. They need single clicks. */
  readonly filters: readonly Filter[];
  readonly breakdowns: readonly Breakdown[];
}

/** All times are starts of quarter hours. */
export interface ScopesQuestion {
  readonly scopes: readonly Scope[];
  /** Where the buckets begin, in order. */
  readonly starts: readonly number[];
  /** The end of the last bucket. */
  readonly to: number;
}

/** Clicks that have one of the values, or none of them. */
export interface Filter {
  readonly dimension: DimensionName;
  readonly values: readonly string[];
  readonly isExcluded: boolean;
}

/** A page of the values of a dimension, the most frequent first; equals in the order of their names. */
export interface Breakdown {
  readonly dimension: DimensionName;
  readonly offset: number;
  readonly limit: number;
  /** Only values that contain it, in any case; empty for all. */
  readonly search: string;
}

export interface Counts {
  /** Clicks of people. */
  clicks: number;
  bots: number;
  /** Of the clicks, those that are suspicious. */
  suspicious: number;
}

export interface Answer {
  /** Sums of the whole range. */
  readonly counts: Readonly<Counts>;
  /** For each bucket of the series, in order. */
  readonly series: readonly Readonly<Counts>[];
  /** Different people, estimated; never more than clicks. */
  readonly visitors: number;
  /** In the order of the question. */
  readonly breakdowns: readonly BreakdownPage[];
  /** What the answer was computed from. */
  readonly source: 'aggregates' | 'clicks';
  /** Clicks before this are missing, because they are no longer kept one by one; 0 when none are. */
  readonly coveredFrom: number;
  /** Lists cover whole UTC days up to here: counted by an earlier version, which kept them so. 0 for none. */
  readonly listsByDayUntil: number;
}

export interface BreakdownPage {
  readonly values: readonly ValueCount[];
  /** How many values there are in all. */
  readonly total: number;
}

/** Any milliseconds. No click may be in two of the scopes. */
export interface RecentQuestion extends TimeRange {
  readonly scopes: readonly Scope[];
  /** A click has to meet all of them. */
  readonly filters: readonly Filter[];
  /** How many of the newest are left out. */
  readonly skip: number;
  readonly limit: number;
}

export interface RecentClicks {
  readonly clicks: readonly ShownClick[];
  /** Clicks before this are no longer kept one by one; 0 when all of the range are. */
  readonly coveredFrom: number;
}

/** The order of clicks of one moment, so that a page continues where the one before ended. */
export const shownOrder = [
  'code',
  'kind',
  'signal',
  ...dimensionNames.filter(name => name !== 'link'),
] as const satisfies readonly (keyof ShownClick)[];

/** Newest first. */
export function compareShown(a: ShownClick, b: ShownClick): number {
  if (a.at !== b.at) return b.at - a.at;
  for (const name of shownOrder) if (a[name] !== b[name]) return a[name] < b[name] ? -1 : 1;
  return 0;
}

/** The value in lists for those beyond `valuesMax` per scope and day. */
export const otherValue = '(other)';
export const valuesMax = 1_000;

/** The page of a breakdown, from all its values. */
export function pageOf(
  counts: ReadonlyMap<string, number>,
  { offset, limit, search }: Breakdown,
): BreakdownPage {
  const wanted = search.toLowerCase();
  const last = offset + limit;
  const compare = (a: ValueCount, b: ValueCount): number =>
    b.clicks - a.clicks || (a.value < b.value ? -1 : 1);
  let values: ValueCount[] = [];
  let total = 0;
  let leastClicks = 1;
  for (const [value, clicks] of counts) {
    if (clicks < 1 || (wanted !== '' && !value.toLowerCase().includes(wanted))) continue;
    total += 1;
    if (clicks < leastClicks) continue;
    values.push({ value, clicks });
    // There may be a million values, and a page needs only a few.
    if (values.length < 4 * last + 1_000) continue;
    values = values.sort(compare).slice(0, last);
    leastClicks = values.at(-1)?.clicks ?? Number.POSITIVE_INFINITY;
  }
  return { values: values.sort(compare).slice(offset, last), total };
}

export interface WarehouseState {
  /** The end of the days that an earlier version counted and a recount would improve; 0 for none. */
  readonly legacyUntil: number;
  /** On disk. */
  readonly bytes: number;
  /** Pieces that are not merged into one. */
  readonly runs: number;
}

export interface MaintenancePlan {
  readonly now: number;
  readonly singlesFrom: number;
  readonly minutesFrom: number;
  /** About how many clicks or rows may be worked on. */
  readonly rowsMax: number;
}

export interface ScopeTotal {
  readonly clicks: number;
  readonly bots: number;
  readonly suspicious: number;
  readonly lastClickAt: number | null;
}

export interface RankingQuestion {
  readonly ownerId: string;
  readonly order: 'most' | 'least';
  /** The last link of the previous page. */
  readonly after: RankedLink | undefined;
  readonly limit: number;
  /** Only these links; all of the owner's when undefined. */
  readonly codes: readonly string[] | undefined;
}

/** Links with as many clicks as each other are ordered by their codes, in the same direction. */
export interface RankedLink {
  readonly code: string;
  /** People's clicks of all time; at least 1. */
  readonly clicks: number;
}

export interface ApplyResult {
  readonly clicks: number;
  /** Clicks skipped because they were counted before. */
  readonly duplicates: number;
}

export interface RecountPlan {
  /** The start of a UTC day, or 0 for everything. */
  readonly countFrom: number;
  /**
   * The producers that had batches when the recount was planned. The numbers of every producer that has batches when
   * the log is read restart, whether it is named here or not. All others keep theirs, except for the named ones when
   * nothing older than the batches stays.
   */
  readonly producers: readonly string[];
}

export interface LedgerRow {
  /** Start of the hour. */
  readonly hour: number;
  readonly producer: string;
  readonly counted: number;
  /** Skipped numbers: given by the producer to clicks that were dropped before they were stored. */
  readonly skipped: number;
  readonly duplicates: number;
}

export interface HourSum {
  /** Start of the hour. */
  readonly hour: number;
  /** Clicks and bots of all links together. */
  readonly counted: number;
  /** Clicks of links that their owners had deleted. */
  readonly forgotten: number;
  /** Single clicks, in a warehouse that keeps them. */
  readonly kept: number | null;
}

export interface CountedProducer {
  readonly producer: string;
  /** The highest number counted; every lower one was counted or skipped. */
  readonly sequence: number;
}

export interface UpkeepOptions {
  /** Whether single clicks and minutes of old days are removed. */
  readonly endsDays: boolean;
  readonly minuteDays: number;
  readonly rawDays: number;
  readonly clock: Clock;
  readonly maintain: Warehouse['maintain'];
}

const rowsPerBite = 16_384;
/** Time that one round may spend. */
const upkeepMaxMs = 100;

/** Maintains the warehouse for a while; true when there is more to do. */
export async function maintainWarehouse({
  endsDays,
  minuteDays,
  rawDays,
  clock,
  maintain,
}: UpkeepOptions): Promise<boolean> {
  const now = clock.now();
  const today = Math.floor(now / grainMs.day) * grainMs.day;
  const daysAgo = (days: number): number => (endsDays ? today - days * grainMs.day : 0);
  const plan = { now, singlesFrom: daysAgo(rawDays), minutesFrom: daysAgo(minuteDays), rowsMax: rowsPerBite };
  const deadlineMs = clock.monotonicMs() + upkeepMaxMs;
  while ((await maintain(plan)) > 0) if (clock.monotonicMs() >= deadlineMs) return true;
  return false;
}

/**
 * A pause in which no process counts, for a warehouse that cannot change its counts and its positions in one
 * transaction. The request to pause is advisory. The guarantee comes from a check that nothing was planned meanwhile,
 * since only planned blocks are counted (ADR 13).
 */
export interface CountingPause {
  /**
   * Asks all consumers to wait, calls `look` once everything planned is counted, and then `act` if nothing was planned
   * meanwhile. False when something was: the result of `look` may be inconsistent, so `act` was not called.
   */
  during(look: () => Promise<void>, act: () => Promise<void>): Promise<boolean>;
}

/** For counts that no other process can touch. */
export const alone: CountingPause = {
  async during(look, act) {
    await look();
    await act();
    return true;
  },
};
