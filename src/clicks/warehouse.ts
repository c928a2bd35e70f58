/**
 * Where clicks are counted. Counts and stream positions change in one transaction, or, in an engine that has none, a
 * block is known by its place; so a crash or a replay never counts anything twice. Answers come from aggregates and
 * never from single clicks. `warehouse.conformance.ts` is the meaning of this file.
 *
 * Everything is counted per scope: a link, an owner's whole account, or an owner's tag. An owner's numbers are
 * therefore as quick to read as a link's.
 */
import type { Clock } from '../base/clock.ts';
import type { DimensionCounts } from './dimensions.ts';
import type { LogBatch } from './log.ts';
import type { SpanReplay } from './replay.ts';
import type { ExportCursor, ExportFilter, ExportPart } from './stats.ts';

export interface Warehouse {
  /** How far each partition has been counted. */
  positions(): Promise<ReadonlyMap<string, number>>;
  /**
   * Counts batches in one transaction. A batch that does not start at the position of its partition is skipped: another
   * process has counted it, or something before it is missing. Where there are no transactions, batches that were not
   * counted to the end are completed by giving exactly the same again.
   */
  apply(batches: readonly LogBatch[]): Promise<ApplyResult>;

  /** Counts of a scope in [from, to), in buckets; see `Grain`. */
  series(scope: Scope, grain: Grain, from: number, to: number): Promise<Bucket[]>;
  /** What is said of scopes together at the top of their statistics, in one question to the warehouse. */
  counts(question: CountsQuestion): Promise<ScopeCounts>;
  /** Unique visitors of a scope in [from, to), from merged sketches. */
  uniques(scopes: readonly Scope[], from: number, to: number): Promise<number>;
  /** The most frequent values of each dimension over the UTC days that [from, to) touches. */
  dimensions(scopes: readonly Scope[], from: number, to: number, top: number): Promise<DimensionCounts>;
  total(scope: Scope): Promise<ScopeTotal>;
  /** In the order of the scopes. */
  totals(scopes: readonly Scope[]): Promise<ScopeTotal[]>;
  /** An owner's links in the order of their clicks; links without clicks are left out. */
  ranking(question: RankingQuestion): Promise<RankedLink[]>;

  /** What was counted of each producer's clicks, per hour. */
  ledger(from: number, to: number): Promise<LedgerRow[]>;
  /** The rows of some hours, and all rows of some producers. */
  ledgerOf(producers: readonly string[], range: TimeRange): Promise<LedgerRow[]>;
  /** Single clicks, where the warehouse has them; elsewhere they are read from the log. */
  exportPart?(filter: ExportFilter, cursor: ExportCursor | undefined): Promise<ExportPart>;
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
   * Recounts everything from a time on, from batches that start at the beginning of their partitions. It is one
   * transaction: queries meanwhile get the old numbers, and a failure leaves them as they were.
   */
  recountAll(plan: RecountPlan, batches: AsyncIterable<readonly LogBatch[]>): Promise<ApplyResult>;
  /**
   * Replaces the counts of whole days by the clicks that a replay of them gives, in one step: queries meanwhile get the
   * old numbers, and a failure leaves them. Counting continues, except for the moment of the change.
   */
  recountDays(replay: SpanReplay, pause: CountingPause): Promise<void>;
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
  readonly countFrom: number;
  /**
   * The producers that had batches when the recount was planned. Reading shows which have batches now: their numbers
   * restart, also for producers that are not named here. All others keep theirs, except for the named ones when nothing
   * older than the batches stays.
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

/** Counts that belong to the same time, added up: those of several scopes, or of rows that an engine has not merged. */
export class BucketSums {
  readonly #byStart = new Map<number, { -readonly [Field in keyof Bucket]: Bucket[Field] }>();

  add({ start, clicks, bots, suspicious }: Bucket): void {
    const known = this.#byStart.get(start);
    if (known === undefined) {
      this.#byStart.set(start, { start, clicks, bots, suspicious });
      return;
    }
    known.clicks += clicks;
    known.bots += bots;
    known.suspicious += suspicious;
  }

  /** In the order of time. */
  all(): Bucket[] {
    return [...this.#byStart.values()].sort((one, other) => one.start - other.start);
  }
}

/** Ends the fine grain of old minutes, a little at a time: quarter hours and days stay. */
export interface DropMinutesOptions {
  readonly minuteDays: number;
  readonly clock: Clock;
  readonly dropMinutes: (before: number, rowsMax: number) => Promise<number>;
}

const dayMs = 24 * 60 * 60_000;
const rowsPerBite = 2_000;
/** Time that one round may spend. */
const dropMaxMs = 300;

export async function dropOldMinutes({ minuteDays, clock, dropMinutes }: DropMinutesOptions): Promise<void> {
  const before = clock.now() - minuteDays * dayMs;
  const deadlineMs = clock.monotonicMs() + dropMaxMs;
  while ((await dropMinutes(before, rowsPerBite)) > 0) {
    if (clock.monotonicMs() >= deadlineMs) break;
  }
}

/**
 * A pause in which no process counts, for a warehouse that cannot change its counts and its positions in one
 * transaction. The request to pause is advisory. The guarantee comes from a check that nothing was planned between two
 * looks, since only planned blocks are counted (ADR 13).
 */
export interface CountingPause {
  /**
   * Asks all consumers to wait, takes a `look` once everything planned is counted, and acts on it if nothing was
   * planned meanwhile. False when something was: what the look found may be inconsistent, and nothing was acted on.
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
