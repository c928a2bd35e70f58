/**
 * The audit trail: every change to a link, an account or a key. There is a way to add, a way to read, and one to forget
 * routine entries that are old, and no other; `audit.conformance.ts` is the meaning of this file.
 *
 * Changes to links and accounts do not come through `append`: their stores keep the entry in the transaction of the
 * change (links/trace.ts). It is for what changes nothing else, such as a moderator's note.
 */
import type { AuditEntry, AuditRecord, AuditSubject } from '../base/audit-entry.ts';

export type { AuditEntry, AuditRecord } from '../base/audit-entry.ts';

export interface AuditLog {
  append(records: readonly AuditRecord[]): Promise<void>;
  query(query: AuditQuery): Promise<AuditPage>;
  /**
   * Removes the routine ones among the next `limit` entries from before `before`; returns how many were looked at. Each
   * call goes on where the one before ended, so that what is kept is walked over once per process. Engines that forget
   * by themselves do nothing.
   */
  forget(before: number, limit: number): Promise<number>;
}

/** Newest first; what is undefined does not matter. */
export interface AuditQuery {
  readonly limit: number;
  readonly cursor: string | undefined;
  readonly subjectKinds: readonly AuditSubject['kind'][] | undefined;
  /** Only together with exactly one kind. */
  readonly subjectId: string | undefined;
  /** Who did it. */
  readonly accountId: string | undefined;
  readonly action: string | undefined;
  /** Milliseconds since the Unix epoch: from `fromMs` on, before `toMs`. */
  readonly fromMs: number | undefined;
  readonly toMs: number | undefined;
}

export interface AuditPage {
  readonly entries: AuditEntry[];
  /**
   * Where to go on; undefined at the end. A filter that matches little may return a short page with a cursor: a
   * driver examines a bounded number of entries per call.
   */
  readonly nextCursor: string | undefined;
}

/** The whole of one subject's story. */
export const everythingAbout = (
  subject: AuditSubject,
  page: Pick<AuditQuery, 'limit' | 'cursor'>,
): AuditQuery => ({
  ...page,
  subjectKinds: [subject.kind],
  subjectId: subject.id,
  accountId: undefined,
  action: undefined,
  fromMs: undefined,
  toMs: undefined,
});
