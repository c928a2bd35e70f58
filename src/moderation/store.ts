/**
 * Reviews and reports as records. Reviews are also opened and closed by writes of links: `traceWrites` gives the writes
 * that join the link's own transaction. `store.conformance.ts` defines the contract.
 */
import type { AuditRecord } from '../audit/audit-entry.ts';
import type { AuditLog, AuditWrites } from '../audit/audit-log.ts';
import { type Clock, yieldToEventLoop } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import type { LinkContext } from '../links/context.ts';
import type { LinkTrace } from '../links/trace.ts';
import { createRecordChanges } from '../records/change-records.ts';
import {
  put,
  queryAll,
  type RecordKind,
  type RecordStore,
  type RecordWrite,
  type Stored,
  sortable,
} from '../records/record-store.ts';
import {
  type Appeal,
  type AppealOutcome,
  afterAppeal,
  afterNote,
  afterReport,
  placeOf,
  type Review,
  type ReviewNote,
} from './review.ts';

export interface ReviewStore {
  find(code: string): Promise<Review | undefined>;
  /** The links that wait for a decision, the most urgent first. */
  queue(query: { readonly limit: number; readonly cursor: string | undefined }): Promise<QueuePage>;
  queueAge(): Promise<QueueAge>;

  /** A repeated report by the same reporter about this link is merged into the first. */
  report(report: Report, opens: boolean): Promise<'noted' | 'folded'>;
  /** The reports that were kept, oldest first. */
  reports(code: string): Promise<KeptReport[]>;
  /** The entry is kept together with the appeal, or neither is. */
  appeal(code: string, appeal: Appeal, audit: AuditRecord): Promise<AppealOutcome>;
  /** Removes a link that no longer exists from the queue. */
  dismiss(code: string, at: number): Promise<void>;
  /** The writes that join the transaction of a link; compute them again when that is rejected. */
  traceWrites(trace: LinkTrace): Promise<RecordWrite[]>;
}

export interface QueuePage {
  readonly reviews: Review[];
  readonly nextCursor: string | undefined;
}

export interface QueueAge {
  /** How many wait; no more than `waitingCountMax` are counted. */
  readonly waiting: number;
  /** Since when the oldest one waits. */
  readonly oldestAt: number | null;
}

/** Counting walks all waiting links, and a number as large as this says enough. */
export const waitingCountMax = 100_000;
const countPageSize = 1_000;
/** A queue of several pages is counted less often, because every process counts it. */
const longCountPeriodMs = 60_000;

export const reportCategories = ['phishing', 'malware', 'spam', 'illegal', 'other'] as const;
export type ReportCategory = (typeof reportCategories)[number];

export interface Report {
  readonly code: string;
  /** Identifies the reporter, for this link and destination only; it cannot be traced back to an address. */
  readonly reporter: string;
  readonly category: ReportCategory;
  readonly text: string | null;
  readonly at: number;
}

export interface KeptReport extends Omit<Report, 'reporter'> {
  /** How often the same reporter repeated it. */
  readonly times: number;
}

/** For further reporters of one link only the number is kept. */
export const reportsKeptMax = 100;

export interface ReviewRecord extends Review {
  /** How many reports are kept with their text. */
  readonly reportsKept: number;
}

const waiting = 'waiting';

export const reviewKind: RecordKind<ReviewRecord, 'queue' | 'age'> = {
  name: 'review',
  key: ({ code }) => code,
  indexes: {
    queue: review => {
      const place = placeOf(review);
      return place === undefined ? undefined : { partition: waiting, sort: sortable(place) };
    },
    age: ({ openedAt }) => (openedAt === null ? undefined : { partition: waiting, sort: sortable(openedAt) }),
  },
};

export interface ReportRecord extends Report {
  readonly times: number;
}

const reportKey = ({ code, reporter }: Pick<Report, 'code' | 'reporter'>): string => `${code}/${reporter}`;

export const reportKind: RecordKind<ReportRecord, 'link'> = {
  name: 'report',
  key: reportKey,
  indexes: { link: ({ code, at }) => ({ partition: code, sort: sortable(at) }) },
};

export interface ReviewStoreOptions {
  readonly records: RecordStore;
  readonly audit: AuditWrites;
  readonly clock: Clock;
  readonly random: Random;
}

export function createReviewStore({ records, audit, clock, random }: ReviewStoreOptions): ReviewStore {
  const changes = createRecordChanges(records, clock, random);
  const countWaiting = queueCounter(records, clock);
  const read = (code: string): Promise<Stored<ReviewRecord> | undefined> => records.get(reviewKind, code);
  const turnOf = (code: string): string => `review ${code}`;

  return {
    async find(code) {
      const stored = await read(code);
      return stored && reviewOf(stored.value);
    },
    async queue({ limit, cursor }) {
      const page = await records.query(reviewKind, 'queue', { partition: waiting }, { limit, cursor });
      return { reviews: page.records.map(({ value }) => reviewOf(value)), nextCursor: page.next };
    },
    queueAge: countWaiting,

    report: (report, opens) =>
      changes.run(turnOf(report.code), async () => {
        const { code, at } = report;
        const [known, before] = await Promise.all([records.get(reportKind, reportKey(report)), read(code)]);
        if (known !== undefined) {
          const repeated = { ...known.value, times: known.value.times + 1 };
          return { answer: 'folded', writes: [put(reportKind, repeated, known)] };
        }
        const review = afterReport(before?.value, code, at, opens);
        const kept = before?.value.reportsKept ?? 0;
        if (kept >= reportsKeptMax) return { answer: 'noted', writes: [putReview(review, kept, before)] };
        const writes = [putReview(review, kept + 1, before), put(reportKind, { ...report, times: 1 })];
        return { answer: 'noted', writes };
      }),
    async reports(code) {
      const found = await queryAll(records, reportKind, 'link', { partition: code }, reportsKeptMax);
      return found.map(({ value: { reporter: _reporter, ...report } }) => report);
    },
    appeal: (code, appeal, entry) =>
      changes.run(turnOf(code), async () => {
        const before = await read(code);
        const { outcome, review } = afterAppeal(before?.value, code, appeal);
        if (outcome !== 'noted') return { answer: outcome };
        const kept = before?.value.reportsKept ?? 0;
        return { answer: outcome, writes: [putReview(review, kept, before), ...audit.writesOf([entry])] };
      }),
    dismiss: (code, at) =>
      changes.run(turnOf(code), async () => {
        const before = await read(code);
        if (before === undefined) return { answer: undefined };
        const note: ReviewNote = { kind: 'close', code, at, isHeld: false, heldFrom: undefined };
        const kept = before.value.reportsKept;
        return { answer: undefined, writes: [putReview(afterNote(before.value, note), kept, before)] };
      }),
    async traceWrites({ audit: entry, review: note }) {
      const entries = audit.writesOf([entry]);
      if (note === undefined) return entries;
      const before = await read(note.code);
      const kept = before?.value.reportsKept ?? 0;
      return [...entries, putReview(afterNote(before?.value, note), kept, before)];
    },
  };
}

const reviewOf = ({ reportsKept: _reportsKept, ...review }: ReviewRecord): Review => review;

const putReview = (
  review: Review,
  reportsKept: number,
  before: Stored<ReviewRecord> | undefined,
): RecordWrite => put(reviewKind, { ...review, reportsKept }, before);

function queueCounter(records: RecordStore, clock: Clock): () => Promise<QueueAge> {
  let longCount: { readonly age: QueueAge; readonly atMs: number } | undefined;
  return async () => {
    if (longCount !== undefined && clock.monotonicMs() - longCount.atMs < longCountPeriodMs) {
      return longCount.age;
    }
    let count = 0;
    let oldestAt: number | null = null;
    let cursor: string | undefined;
    let pages = 0;
    do {
      const page = await records.query(
        reviewKind,
        'age',
        { partition: waiting },
        { limit: countPageSize, cursor },
      );
      oldestAt ??= page.records[0]?.value.openedAt ?? null;
      count += page.records.length;
      cursor = page.next;
      pages += 1;
      await yieldToEventLoop();
    } while (cursor !== undefined && count < waitingCountMax);
    const age = { waiting: Math.min(count, waitingCountMax), oldestAt };
    longCount = pages === 1 ? undefined : { age, atMs: clock.monotonicMs() };
    return age;
  };
}

export interface ModerationContext {
  readonly links: Pick<LinkContext, 'store' | 'clock'>;
  readonly reviews: ReviewStore;
  readonly audit: AuditLog;
  /** Keys the hash that identifies a reporter. */
  readonly reporterKey: Uint8Array;
}
