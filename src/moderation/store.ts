import type { AuditRecord } from '../base/audit-entry.ts';
import type { Appeal, AppealOutcome, Review } from './review.ts';

/**
 * Where reviews and reports live; `store.conformance.ts` is the meaning of this file. Reviews are also opened and
 * closed by writes of links, in their transaction: see `LinkTrace` in links/trace.ts.
 */
export interface ReviewStore {
  find(code: string): Promise<Review | undefined>;
  /** What waits for a decision, the most pressing first. */
  queue(query: { readonly limit: number; readonly cursor: string | undefined }): Promise<QueuePage>;
  queueAge(): Promise<QueueAge>;

  /** A report of someone who has reported this link already is folded into the first. */
  report(report: Report, opens: boolean): Promise<'noted' | 'folded'>;
  /** The reports that were kept, oldest first. */
  reports(code: string): Promise<KeptReport[]>;
  /** The entry is kept together with the appeal, or neither is. */
  appeal(code: string, appeal: Appeal, audit: AuditRecord): Promise<AppealOutcome>;
  /** Takes what no longer exists out of the queue. */
  dismiss(code: string, at: number): Promise<void>;
}

export interface QueuePage {
  readonly reviews: Review[];
  readonly nextCursor: string | undefined;
}

export interface QueueAge {
  /** How many wait; no more than `waitingCountMax` are counted. */
  readonly waiting: number;
  /** Since when the one waits that has waited longest. */
  readonly oldestAt: number | null;
}

/** Counting goes through all that wait, and a number as large as this says enough. */
export const waitingCountMax = 100_000;

export const reportCategories = ['phishing', 'malware', 'spam', 'illegal', 'other'] as const;
export type ReportCategory = (typeof reportCategories)[number];

export interface Report {
  readonly code: string;
  /** Stands for whoever reported, for this link and destination only; it cannot be traced back to an address. */
  readonly reporter: string;
  readonly category: ReportCategory;
  readonly text: string | null;
  readonly at: number;
}

export interface KeptReport extends Omit<Report, 'reporter'> {
  /** How often the same reporter said so. */
  readonly times: number;
}

/** Of more reporters of one link only the number is kept. */
export const reportsKeptMax = 100;
