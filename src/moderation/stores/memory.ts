/**
 * Moderation in memory, for tests and for trying Terse out. The link store in memory hands its traces to `keepTrace`,
 * which takes the place of a shared transaction.
 */
import type { AuditEntry, AuditRecord } from '../../base/audit-entry.ts';
import type { AuditLog } from '../audit.ts';
import { auditSeqOf } from '../audit-cursor.ts';
import { isMatch } from '../audit-match.ts';
import { queueCursorOf, queuePlaceOf } from '../queue-cursor.ts';
import { afterAppeal, afterNote, afterReport, type LinkTrace, placeOf, type Review } from '../review.ts';
import { type KeptReport, type Report, type ReviewStore, reportsKeptMax, waitingCountMax } from '../store.ts';

export interface MemoryModeration {
  readonly reviews: ReviewStore;
  readonly audit: AuditLog;
  readonly keepTrace: (trace: LinkTrace) => void;
  readonly appendAudit: (records: readonly AuditRecord[]) => void;
}

export function createMemoryModeration(): MemoryModeration {
  let entries: (AuditEntry & { readonly seq: number })[] = [];
  let lastSeq = 0;
  const reviews = new Map<string, Review>();
  const reports = new Map<string, Map<string, Report & { times: number }>>();

  const appendAudit = (records: readonly AuditRecord[]): void => {
    // A copy, because what was noted must not change with what it was noted from.
    for (const record of records) {
      lastSeq += 1;
      entries.push({ ...structuredClone(record), id: lastSeq.toString(36), seq: lastSeq });
    }
  };

  const queued = () =>
    [...reviews.values()]
      .flatMap(review => {
        const place = placeOf(review);
        return place === undefined ? [] : [{ review, place, code: review.code }];
      })
      .sort((a, b) => a.place - b.place || (a.code < b.code ? -1 : 1));

  return {
    appendAudit,
    keepTrace({ audit, review }) {
      appendAudit([audit]);
      if (review !== undefined) reviews.set(review.code, afterNote(reviews.get(review.code), review));
    },

    audit: {
      append: async records => appendAudit(records),
      async query(query) {
        const before = query.cursor === undefined ? lastSeq + 1 : auditSeqOf(query.cursor);
        const found = entries.filter(entry => entry.seq < before && isMatch(entry, query));
        const page = found
          .reverse()
          .slice(0, query.limit)
          .map(({ seq: _seq, ...entry }) => entry);
        const more = found.length > page.length;
        return { entries: page, nextCursor: more ? page.at(-1)!.id : undefined };
      },
      async forget(before) {
        const count = entries.length;
        entries = entries.filter(({ isRoutine, at }) => !isRoutine || at >= before);
        return count - entries.length;
      },
    },

    reviews: {
      find: async code => reviews.get(code),
      async queue({ limit, cursor }) {
        const after = cursor === undefined ? undefined : queuePlaceOf(cursor);
        const rest = queued().filter(
          ({ place, code }) =>
            after === undefined || place > after.place || (place === after.place && code > after.code),
        );
        const page = rest.slice(0, limit);
        const nextCursor = rest.length > page.length ? queueCursorOf(page.at(-1)!) : undefined;
        return { reviews: page.map(({ review }) => review), nextCursor };
      },
      async queueAge() {
        const since = queued().map(({ review }) => review.openedAt!);
        const oldestAt = since.length === 0 ? null : Math.min(...since);
        return { waiting: Math.min(waitingCountMax, since.length), oldestAt };
      },

      async report(report, opens) {
        const kept = reports.get(report.code) ?? new Map<string, Report & { times: number }>();
        reports.set(report.code, kept);
        const earlier = kept.get(report.reporter);
        if (earlier !== undefined) {
          earlier.times += 1;
          return 'folded';
        }
        if (kept.size < reportsKeptMax) kept.set(report.reporter, { ...report, times: 1 });
        reviews.set(report.code, afterReport(reviews.get(report.code), report.code, report.at, opens));
        return 'noted';
      },
      async reports(code): Promise<KeptReport[]> {
        return [...(reports.get(code)?.values() ?? [])].map(({ reporter: _reporter, ...kept }) => kept);
      },
      async appeal(code, appeal, audit) {
        const { outcome, review } = afterAppeal(reviews.get(code), code, appeal);
        if (outcome !== 'noted') return outcome;
        reviews.set(code, review);
        appendAudit([audit]);
        return outcome;
      },
      async dismiss(code, at) {
        const note = { kind: 'close', code, at, isHeld: false, heldFrom: undefined } as const;
        if (reviews.has(code)) reviews.set(code, afterNote(reviews.get(code), note));
      },
    },
  };
}
