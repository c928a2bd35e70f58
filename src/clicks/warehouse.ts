/**
 * Where clicks are counted. Counts and stream positions change in one transaction, or, in an engine that has none, a
 * block is known by its place; so a crash or a replay never counts anything twice. Answers come from aggregates and
 * never from single clicks. `warehouse.conformance.ts` is the meaning of this file.
 *
 * Everything is counted per scope: a link, an owner's whole account, or an owner's tag. An owner's numbers are
 * therefore as quick to read as a link's.
 */
import type { CountingPause } from './counting-pause.ts';
import type { SpanReplay } from './replay.ts';
import type { StreamBatch } from './stream.ts';

export interface Warehouse {
  /** How far each partition has been counted. */
  positions(): Promise<ReadonlyMap<string, number>>;
  /**
   * Counts batches in one transaction. A batch that does not start where its partition stands is passed over:
   * someone else has counted it, or something before it is missing. Where there are no transactions, batches that
   * were not counted to the end are completed by giving exactly the same again.
   */
  apply(batches: readonly StreamBatch[]): Promise<ApplyResult>;

  /** Counts of a scope in [from, to), in buckets; see `Grain`. */
  series(scope: Scope, grain: Grain, from: number, to: number): Promise<Bucket[]>;
  /** What is said of scopes together at the top of their statistics, in one question to the warehouse. */
  counts(question: CountsQuestion): Promise<ScopeCounts>;
  /** Unique visitors of a scope in [from, to), from merged sketches. */
  uniques(scopes: readonly Scope[], from: number, to: number): Promise<number>;
  /** The most frequent values of each dimension over the UTC days that [from, to) touches. */
  dimensions(scopes: readonly Scope[], from: number, to: number, top: number): Promise<DimensionCounts>;
  total(scope: Scope): Promise<ScopeTotal>;
  /** An owner's links in the order of their clicks; links that nobody has followed are left out. */
  ranking(question: RankingQuestion): Promise<RankedLink[]>;

  /** What was counted of each producer's clicks, per hour. */
  ledger(from: number, to: number): Promise<LedgerRow[]>;
  /** What the counts of all links add up to in each hour, for comparing with the ledger; hours without any are left out. */
  hourSums(from: number, to: number): Promise<HourSum[]>;
  /** Hours before it cannot be compared any more. */
  comparableSince(): Promise<number>;
  producers(): Promise<CountedProducer[]>;

  /** Forgets all counts of a link; clicks before `at` are not counted by a replay either. */
  forget(code: string, at: number): Promise<void>;
  /** Clicks of a link before this were forgotten; 0 for none. */
  forgottenBefore(code: string): Promise<number>;
  /**
   * Counts everything from a time on anew, from batches that start at the beginning of their partitions. It
   * is one transaction: whoever asks meanwhile gets the old numbers, and a failure leaves them as they were.
   */
  rebuild(plan: RebuildPlan, batches: AsyncIterable<readonly StreamBatch[]>): Promise<ApplyResult>;
  /**
   * Puts the clicks of a stretch of time, as a replay gives them, in the place of what was counted of it, at once: whoever
   * asks meanwhile gets the old numbers, and a failure leaves them. Counting goes on, but for the moment of the change.
   * Lists are kept by the day, so those of days that are only in part within the stretch stay as they are. Returns how
   * many clicks there are.
   */
  repair(replay: SpanReplay, pause: CountingPause): Promise<number>;
  /** Forgets how far partitions were counted that are no longer there. */
  retire(partitions: readonly string[]): Promise<void>;
  /** The earliest time that anything was counted for; undefined when nothing was. */
  earliest(): Promise<number | undefined>;
  /**
   * Drops at most `rowsMax` minutes before `before`, whose quarter hours stay, and does a piece of what an upgrade has left
   * to do. Returns how much that was; zero when nothing is left.
   */
  dropMinutes(before: number, rowsMax: number): Promise<number>;
  close(): Promise<void>;
}

export type Scope =
  | { readonly kind: 'link'; readonly code: string }
  | { readonly kind: 'owner'; readonly ownerId: string }
  | { readonly kind: 'tag'; readonly ownerId: string; readonly tag: string };

/** One string per scope; codes have no colon, so the kinds never meet. */
export function scopeName(scope: Scope): string {
  if (scope.kind === 'link') return scope.code;
  return scope.kind === 'owner' ? `owner:${scope.ownerId}` : `tag:${scope.ownerId}:${scope.tag}`;
}

/** Minutes are kept for a while, quarter hours and days for good. A day is a UTC day. */
export type Grain = 'minute' | 'quarter' | 'day';
export const grainMs: Readonly<Record<Grain, number>> = {
  minute: 60_000,
  quarter: 15 * 60_000,
  day: 24 * 60 * 60_000,
};

export interface Bucket {
  readonly start: number;
  readonly clicks: number;
  readonly bots: number;
  /** Of the clicks, those that are suspicious. */
  readonly suspicious: number;
}

export interface CountsQuestion extends TimeRange {
  readonly scopes: readonly Scope[];
  readonly grain: Grain;
  /** A stretch of recent time, to the minute. */
  readonly recent: TimeRange;
}

export interface TimeRange {
  readonly from: number;
  readonly to: number;
}

export interface ScopeCounts {
  /** As `series` would say of each scope, added up. */
  readonly series: readonly Bucket[];
  /** People's clicks in the minutes that begin in the recent stretch, while minutes are kept. */
  readonly recentClicks: number;
  /** Of all time, added up. */
  readonly total: ScopeTotal;
}

/** `link` only of owners and tags: which of their links were followed. */
export const dimensionNames = ['country', 'referrer', 'device', 'browser', 'os', 'link'] as const;
export type DimensionName = (typeof dimensionNames)[number];
export type DimensionCounts = Readonly<Record<DimensionName, readonly ValueCount[]>>;

export interface ValueCount {
  readonly value: string;
  readonly clicks: number;
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
  /** Clicks passed over because they were counted before. */
  readonly duplicates: number;
}

export interface RebuildPlan {
  readonly countFrom: number;
  /**
   * Whose batches there were a while ago. Whose there are shows in reading: their numbers start anew, also of those who
   * are not named here. All others keep theirs, but for the named ones when nothing older than the batches stays.
   */
  readonly producers: readonly string[];
}

export interface LedgerRow {
  /** Start of the hour. */
  readonly hour: number;
  readonly producer: string;
  readonly counted: number;
  /** Numbers that were skipped: noted by the producer and dropped before they were stored. */
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
