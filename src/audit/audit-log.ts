/**
 * The audit log: every change to a link, an account or a key, as append-only records. A rule that makes a change adds
 * `writesOf` its entry to the transaction, so that neither is kept without the other; `append` is for entries without
 * another change, such as a moderator's note.
 *
 * The id of an entry begins with its time, but is always higher than the previous id of this process. So ids follow the
 * order of writing within a process, and the clocks between processes.
 */
import { invalidCursor, invariant } from '../base/errors.ts';
import { inParallel } from '../base/in-parallel.ts';
import type { Random } from '../base/random.ts';
import {
  positionOf,
  put,
  type RecordKind,
  type RecordStore,
  type RecordWrite,
} from '../records/record-store.ts';
import {
  type AuditEntry,
  type AuditRecord,
  type AuditSubject,
  auditDaysDefault,
  auditDaysMin,
} from './audit-entry.ts';

export type { AuditEntry, AuditRecord } from './audit-entry.ts';

export interface AuditLog extends AuditWrites {
  append(records: readonly AuditRecord[]): Promise<void>;
  query(query: AuditQuery): Promise<AuditPage>;
}

export interface AuditWrites {
  /** One write for each record, in their order. */
  writesOf(records: readonly AuditRecord[]): RecordWrite[];
}

/** Newest first; undefined fields match everything. */
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
   * Where to continue; undefined at the end. A filter that matches little may return a short page with a cursor: a call
   * examines a bounded number of entries.
   */
  readonly nextCursor: string | undefined;
}

/** The whole history of one subject. */
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

const dayMs = 24 * 60 * 60 * 1_000;

/** How long routine entries are kept is decided when they are written; every other entry is kept forever. */
export const auditKind = (
  routineDays = auditDaysDefault,
): RecordKind<AuditEntry, 'all' | 'subject' | 'account'> => ({
  name: 'audit',
  key: ({ id }) => id,
  indexes: {
    all: ({ id }) => ({ partition: 'all', sort: id }),
    subject: ({ id, subject }) => ({ partition: subjectPartition(subject), sort: id }),
    account: ({ id, actor }) =>
      actor.accountId === null ? undefined : { partition: actor.accountId, sort: id },
  },
  expiresAt: ({ at, isRoutine }) => (isRoutine ? at + routineDays * dayMs : null),
  lockedUntil: ({ at, isRoutine }) => (isRoutine ? at + auditDaysMin * dayMs : Number.MAX_SAFE_INTEGER),
});

const subjectPartition = ({ kind, id }: AuditSubject): string => `${kind}/${id}`;

export interface AuditLogOptions {
  readonly records: RecordStore;
  readonly random: Random;
  readonly routineDays?: number | undefined;
}

const examinedMax = 2_000;
const pageMax = 500;
const entriesPerWrite = 10;
const writesAtOnce = 8;

export function createAuditWrites(random: Random, routineDays?: number): AuditWrites {
  const kind = auditKind(routineDays);
  const nextId = createAuditIds(random);
  return { writesOf: entries => entries.map(entry => put(kind, { ...entry, id: nextId(entry.at) })) };
}

export function createAuditLog({ records, random, routineDays }: AuditLogOptions): AuditLog {
  const kind = auditKind(routineDays);
  const { writesOf } = createAuditWrites(random, routineDays);

  return {
    writesOf,
    async append(entries) {
      const writes = writesOf(entries);
      await inParallel(Math.ceil(writes.length / entriesPerWrite), writesAtOnce, async turn => {
        const from = turn * entriesPerWrite;
        const outcome = await records.transact(writes.slice(from, from + entriesPerWrite));
        invariant(outcome === 'done', 'no two audit entries have the same id');
      });
    },

    async query(query) {
      const { index, partition } = sourceOf(query);
      const found: AuditEntry[] = [];
      let examined = 0;
      let before = startOf(query);
      while (examined < examinedMax) {
        const limit = Math.min(
          pageMax,
          examinedMax - examined,
          isFiltered(query) ? pageMax : query.limit + 1,
        );
        const range = { partition, from: lowestAuditId(query.fromMs ?? 0), to: before, descending: true };
        const page = await records.query(kind, index, range, { limit });
        for (const { value: entry } of page.records) {
          if (isMatch(entry, query)) found.push(entry);
          // One more than requested shows that there is more.
          if (found.length > query.limit)
            return pageOf(found.slice(0, query.limit), found[query.limit - 1]!.id);
          before = entry.id;
        }
        examined += limit;
        if (page.next === undefined) return pageOf(found, undefined);
        // Also past a page whose entries have all expired.
        before = positionOf(page.next).sort;
      }
      return pageOf(found, before);
    },
  };
}

const pageOf = (entries: AuditEntry[], nextCursor: string | undefined): AuditPage => ({
  entries,
  nextCursor,
});

/** The index that has the fewest other entries between those that can match. */
function sourceOf({ subjectKinds, subjectId, accountId }: AuditQuery) {
  const [kind, ...otherKinds] = subjectKinds ?? [];
  if (subjectId !== undefined && kind !== undefined && otherKinds.length === 0) {
    return { index: 'subject', partition: subjectPartition({ kind, id: subjectId }) } as const;
  }
  if (accountId !== undefined) return { index: 'account', partition: accountId } as const;
  return { index: 'all', partition: 'all' } as const;
}

/** An id is never before its entry's time and not long after it, so a time filter bounds the walk. */
function startOf({ cursor, toMs }: AuditQuery): string {
  if (cursor === undefined) return toMs === undefined ? highestAuditId : lowestAuditId(toMs + auditSlackMs);
  if (/^[0-9a-z]{20}$/.test(cursor)) return cursor;
  throw invalidCursor();
}

/** Whether entries of the source may have to be skipped: its own partition is no filter. */
function isFiltered(query: AuditQuery): boolean {
  const { index } = sourceOf(query);
  const { action, fromMs, toMs } = query;
  const subjectKinds = index === 'subject' ? undefined : query.subjectKinds;
  const accountId = index === 'account' ? undefined : query.accountId;
  return [subjectKinds, accountId, action, fromMs, toMs].some(each => each !== undefined);
}

function isMatch({ subject, actor, action, at }: AuditEntry, query: AuditQuery): boolean {
  const { subjectKinds, subjectId, accountId, fromMs = 0, toMs = Number.POSITIVE_INFINITY } = query;
  if (subjectKinds !== undefined && !subjectKinds.includes(subject.kind)) return false;
  if (subjectId !== undefined && subject.id !== subjectId) return false;
  if (accountId !== undefined && actor.accountId !== accountId) return false;
  if (query.action !== undefined && action !== query.action) return false;
  return at >= fromMs && at < toMs;
}

/** The id of an entry is later than its time by this much at most: a clock set back further resets it. */
const auditSlackMs = 60 * 60 * 1_000;
const timeLength = 9;
const orderLength = 4;
const suffixLength = 7;
const timeMax = 36 ** timeLength - 1;
const orderMax = 36 ** orderLength - 1;

function createAuditIds(random: Random): (atMs: number) => string {
  let lastMs = 0;
  let order = 0;
  return atMs => {
    const behindMs = lastMs - atMs;
    if (behindMs < 0 || behindMs > auditSlackMs) {
      lastMs = atMs;
      order = 0;
    } else if (order < orderMax) {
      order += 1;
    } else {
      lastMs += 1;
      order = 0;
    }
    const suffix = Array.from(random.bytes(suffixLength), byte => (byte % 36).toString(36)).join('');
    return auditIdOf(lastMs, order) + suffix;
  };
}

/** Without the suffix that tells processes apart. */
const auditIdOf = (atMs: number, order: number): string =>
  inBase36(Math.min(timeMax, Math.max(0, atMs)), timeLength) + inBase36(order, orderLength);

const highestAuditId = 'z'.repeat(timeLength + orderLength + suffixLength);

/** The smallest id that an entry of this moment can have. */
const lowestAuditId = (atMs: number): string => auditIdOf(atMs, 0) + '0'.repeat(suffixLength);

/** The id of an entry from a table that numbered its entries: ordered by time, then by number. */
export const auditIdOfNumber = (atMs: number, seq: number): string =>
  inBase36(Math.min(timeMax, Math.max(0, atMs)), timeLength) + inBase36(seq, orderLength + suffixLength);

const inBase36 = (value: number, length: number): string => value.toString(36).padStart(length, '0');
