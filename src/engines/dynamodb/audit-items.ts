/**
 * The audit trail as items. Any store puts them into the transaction that makes the change, so that neither is kept
 * without the other. An entry is put under the condition that nothing is there, and no code of ours updates or removes
 * one; that nobody else does is for the table's permissions to say (docs/operations/dynamodb.md). The engine itself drops
 * routine entries after their time.
 *
 * An entry lies in the partition of its subject and is found by its author and by its day through the two indexes. Its
 * id is its own time, but never before that of an earlier entry of this process: so ids follow the order of writing
 * here, and the clocks between processes. A day's partition is written to on that day alone. Which days there are is
 * noted before their first entry, because a reader cannot guess how far other clocks have come.
 */
import { type AuditEntry, type AuditRecord, auditDaysDefault } from '../../base/audit-entry.ts';
import type { Random } from '../../base/random.ts';
import type { Dynamo } from './dynamodb.ts';
import { isNew, type Key, type TransactItem } from './expressions.ts';
import { partitionOf } from './key-text.ts';
import { ttlAttribute } from './table.ts';

export interface AuditItem extends Key {
  /** Of whoever did it; absent when no account did. */
  readonly auditAccount: string | undefined;
  readonly auditDay: string;
  /** As text, because it comes back to the letter that way, and nothing is ever looked up by a part of it. */
  readonly entry: string;
  /** Only of routine entries. */
  readonly [ttlAttribute]: number | undefined;
}

export interface AuditItems {
  /** One write for each record, in their order. */
  itemsOf(records: readonly AuditRecord[]): Promise<TransactItem[]>;
}

/** The id of an entry is never before its time, and later by this much at most: a clock set back further starts anew. */
export const auditSlackMs = 60 * 60 * 1_000;
export const auditDays = 'audit-days';

const timeLength = 9;
const orderLength = 4;
const suffixLength = 7;
const dayS = 24 * 60 * 60;
const timeMax = 36 ** timeLength - 1;
const orderMax = 36 ** orderLength - 1;
const daysRememberedMax = 100;

export function createAuditItems(
  dynamo: Pick<Dynamo, 'write'>,
  random: Random,
  routineDays = auditDaysDefault,
): AuditItems {
  const knownDays = new Set<string>();
  let lastMs = 0;
  let order = 0;

  const nextId = (atMs: number): string => {
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
    return lowestAuditId(lastMs).slice(0, timeLength) + inBase36(order, orderLength) + suffix(random);
  };

  const noteDay = async (day: string): Promise<void> => {
    if (knownDays.has(day)) return;
    await dynamo.write({ put: { pk: auditDays, sk: day } });
    if (knownDays.size >= daysRememberedMax) knownDays.clear();
    knownDays.add(day);
  };

  return {
    async itemsOf(records) {
      const entries = records.map(record => ({ ...record, id: nextId(record.at) }));
      for (const { id } of entries) await noteDay(auditDayOf(id));
      return entries.map(entry => ({ put: { ...auditItemOf(entry, routineDays) }, condition: isNew }));
    },
  };
}

export const auditOfSubject = (kind: string, id: string): string => partitionOf(`audit#${kind}`, id);
export const auditAccountOf = (accountId: string): string => partitionOf('account', accountId);

export const highestAuditId = 'z'.repeat(timeLength + orderLength + suffixLength);

/** The smallest id that an entry of this moment can have. */
export function lowestAuditId(atMs: number): string {
  return inBase36(Math.min(timeMax, Math.max(0, atMs)), timeLength) + '0'.repeat(orderLength + suffixLength);
}

export function auditDayOf(id: string): string {
  return new Date(Number.parseInt(id.slice(0, timeLength), 36)).toISOString().slice(0, 10);
}

export const isAuditId = (text: string): boolean => /^[0-9a-z]{20}$/.test(text);

/** `routineDays`: how long a routine entry is kept; null for ever. */
export function auditItemOf({ id, ...entry }: AuditEntry, routineDays: number | null): AuditItem {
  const { at, actor, action, subject, before = null, after = null, reason, isRoutine } = entry;
  return {
    pk: auditOfSubject(subject.kind, subject.id),
    sk: id,
    auditAccount: actor.accountId === null ? undefined : auditAccountOf(actor.accountId),
    auditDay: auditDayOf(id),
    entry: JSON.stringify({ at, actor, action, subject, before, after, reason, isRoutine }),
    [ttlAttribute]:
      isRoutine && routineDays !== null ? Math.ceil(at / 1_000) + routineDays * dayS : undefined,
  };
}

export function auditEntryOf({ sk, entry }: AuditItem): AuditEntry {
  // Entries of earlier versions do not say it, and are kept for ever.
  return { id: sk, isRoutine: false, ...(JSON.parse(entry) as Omit<AuditRecord, 'isRoutine'>) };
}

const inBase36 = (value: number, length: number): string => value.toString(36).padStart(length, '0');

function suffix(random: Random): string {
  return Array.from(random.bytes(suffixLength), byte => (byte % 36).toString(36)).join('');
}
