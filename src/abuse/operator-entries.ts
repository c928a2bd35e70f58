/**
 * Entries that operators add to the blocklist through the API, beside the files. They are kept in the store, so all
 * processes share them; each looks for changes a few times a second. `operator-entries.conformance.ts` is the meaning
 * of the port.
 */
import { createHash } from 'node:crypto';
import type { AuditActor, AuditRecord } from '../base/audit-entry.ts';
import { Problem } from '../base/errors.ts';
import { lineOf, readBlockLine } from './block-file.ts';

export interface OperatorEntry {
  /** Follows from the entry, so that the same entry is never kept twice. */
  readonly id: string;
  /** A line as in a list file, in the one spelling of `acceptEntry`. */
  readonly entry: string;
  readonly reason: string | null;
  readonly addedAt: number;
  /** The account that added it; null for Terse itself. */
  readonly addedBy: string | null;
}

/** Who changes the entries and when; kept with the change in the audit trail. */
export interface EntryChange {
  readonly at: number;
  readonly actor: AuditActor;
}

export interface OperatorEntryStore {
  /** Changes with every change of the entries, in whichever process. */
  revision(): Promise<number>;
  /** All of them, oldest first; there are at most `operatorEntriesMax`. */
  list(): Promise<OperatorEntry[]>;
  /** `exists` when the same entry is there already, and is left as it is. */
  add(entry: OperatorEntry, change: EntryChange): Promise<'added' | 'exists' | 'full'>;
  /** False when there is no such entry. */
  remove(id: string, change: EntryChange): Promise<boolean>;
}

/** More than that belongs in a file. */
export const operatorEntriesMax = 10_000;
const idLength = 16;

/** The entry in one spelling, with its id; refuses what a list file would complain about. */
export function acceptEntry(text: string): { entry: string; id: string } {
  const reading = readBlockLine(text);
  const complaint = 'complaint' in reading ? reading.complaint : undefined;
  const [first, ...more] = 'entries' in reading ? reading.entries : [];
  if (first === undefined || more.length > 0) {
    throw new Problem('invalid_request', {
      detail: `This is not an entry: it ${complaint ?? 'names nothing, or more than one thing'}.`,
      fields: { field: 'entry' },
    });
  }
  const entry = lineOf(first);
  const digest = createHash('sha256').update(entry).digest('base64url');
  return { entry, id: `blk_${digest.slice(0, idLength)}` };
}

/** What the audit trail keeps of a change. */
export function entryRecord(
  action: 'added' | 'removed',
  entry: OperatorEntry,
  { at, actor }: EntryChange,
): AuditRecord {
  const { id, addedAt: _addedAt, addedBy: _addedBy, ...facts } = entry;
  return {
    at,
    actor,
    action: `blocklist.${action}`,
    subject: { kind: 'domain', id: entry.entry },
    before: action === 'removed' ? { id, ...facts } : null,
    after: action === 'added' ? { id, ...facts } : null,
    reason: entry.reason,
    isRoutine: false,
  };
}
