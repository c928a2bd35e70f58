/** What can be asked about clicks, wherever the answers are worked out. */
import type { HourComparison } from './compare-hours.ts';
import type { Reconciliation } from './reconcile.ts';
import type { Stats, StatsQuery } from './stats.ts';
import type { RankedLink, RankingQuestion, ScopeTotal } from './warehouse.ts';
import type { WatchList } from './watch-list.ts';

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
  /** What different parts say about each hour; with `countsStream` the stream, too, which is read for it. */
  compareHours(from: number, to: number, countsStream: boolean): Promise<HourComparison[]>;
  /** Counts the whole log anew, in place of what was counted before. */
  rebuild(): Promise<void>;
  /** Counts some hours anew, in place of what was counted of them; returns how many clicks they have. */
  repair(from: number, to: number): Promise<number>;
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
  /** Where to go on; undefined at the end. */
  readonly next: ExportCursor | undefined;
}
