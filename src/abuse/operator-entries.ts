/**
 * Entries that operators add to the blocklist through the API, in addition to the files. They are records, so all
 * processes share them; each polls for changes a few times a second. `operator-entries.conformance.ts` defines the
 * contract.
 */
import { createHash } from 'node:crypto';
import type { AuditActor, AuditRecord } from '../audit/audit-entry.ts';
import type { AuditWrites } from '../audit/audit-log.ts';
import { type Clock, sleep } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import type { Random } from '../base/random.ts';
import { createRecordChanges } from '../records/change-records.ts';
import {
  put,
  queryAll,
  type RecordKind,
  type RecordStore,
  remove,
  sortable,
} from '../records/record-store.ts';
import { lineOf, readBlockLine } from './block-entry.ts';

export interface OperatorEntry {
  /** Derived from the entry, so that the same entry is never stored twice. */
  readonly id: string;
  /** A line as in a list file, in the one spelling of `acceptEntry`. */
  readonly entry: string;
  readonly reason: string | null;
  readonly addedAt: number;
  /** The account that added it; null for Terse itself. */
  readonly addedBy: string | null;
}

/** Who changes the entries and when; kept with the change in the audit log. */
export interface EntryChange {
  readonly at: number;
  readonly actor: AuditActor;
}

export interface OperatorEntryStore {
  /** Changes with every change of the entries, in whichever process. */
  revision(): Promise<number>;
  /** All of them, oldest first; there are at most `operatorEntriesMax`. */
  list(): Promise<OperatorEntry[]>;
  /** `exists` when the same entry is stored already, and is left as it is. */
  add(entry: OperatorEntry, change: EntryChange): Promise<'added' | 'exists' | 'full'>;
  /** False when there is no such entry. */
  remove(id: string, change: EntryChange): Promise<boolean>;
}

export const blockEntryKind: RecordKind<OperatorEntry & { readonly seq: number }, 'all'> = {
  name: 'block-entry',
  key: ({ id }) => id,
  indexes: { all: ({ seq }) => ({ partition: 'all', sort: sortable(seq) }) },
};

export const blockListKey = 'entries';

/** One record, written by every change: so changes are serialized and their number stays bounded. */
export const blockListKind: RecordKind<BlockListState> = {
  name: 'block-list',
  key: () => blockListKey,
  indexes: {},
};

export interface BlockListState {
  /** The revision of the last change. */
  readonly revision: number;
  readonly count: number;
}

export interface OperatorEntryOptions {
  readonly records: RecordStore;
  readonly audit: AuditWrites;
  readonly clock: Clock;
  readonly random: Random;
}

export function createOperatorEntries({
  records,
  audit,
  clock,
  random,
}: OperatorEntryOptions): OperatorEntryStore {
  const changes = createRecordChanges(records, clock, random);
  const readState = () => records.get(blockListKind, blockListKey);
  return {
    revision: async () => (await readState())?.value.revision ?? 0,
    async list() {
      for (let attempt = 1; ; attempt += 1) {
        const found = await queryAll(
          records,
          blockEntryKind,
          'all',
          { partition: 'all' },
          operatorEntriesMax,
        );
        const isWhole = found.length === ((await readState())?.value.count ?? 0);
        if (isWhole || attempt === listAttemptsMax)
          return found.map(({ value: { seq: _seq, ...entry } }) => entry);
        await sleep(clock, listPauseMs);
      }
    },
    add: (entry, change) =>
      changes.run('block entries', async () => {
        const [known, before] = await Promise.all([records.get(blockEntryKind, entry.id), readState()]);
        if (known !== undefined) return { answer: 'exists' };
        const { revision, count } = before?.value ?? { revision: 0, count: 0 };
        if (count >= operatorEntriesMax) return { answer: 'full' };
        const state = { revision: revision + 1, count: count + 1 };
        return {
          answer: 'added',
          writes: [
            put(blockEntryKind, { ...entry, seq: state.revision }),
            put(blockListKind, state, before),
            ...audit.writesOf([entryRecord('added', entry, change)]),
          ],
        };
      }),
    remove: (id, change) =>
      changes.run('block entries', async () => {
        const [known, before] = await Promise.all([records.get(blockEntryKind, id), readState()]);
        if (known === undefined || before === undefined) return { answer: false };
        const { seq: _seq, ...entry } = known.value;
        const { revision, count } = before.value;
        return {
          answer: true,
          writes: [
            remove(blockEntryKind, known),
            put(blockListKind, { revision: revision + 1, count: count - 1 }, before),
            ...audit.writesOf([entryRecord('removed', entry, change)]),
          ],
        };
      }),
  };
}

/** More than that belongs in a file. */
export const operatorEntriesMax = 10_000;
const idLength = 16;
/** A list that is read in DynamoDB during a change may show a part of it. */
const listAttemptsMax = 5;
const listPauseMs = 50;
/** Its text is the subject of audit entries, which engines index. */
const entryBytesMax = 2_048;

/** The entry in one spelling, with its id; rejects what a list file would complain about. */
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
  if (Buffer.byteLength(entry) > entryBytesMax) {
    throw new Problem('invalid_request', {
      detail: `This entry has more than ${entryBytesMax} bytes once it is escaped.`,
      fields: { field: 'entry' },
    });
  }
  const digest = createHash('sha256').update(entry).digest('base64url');
  return { entry, id: `blk_${digest.slice(0, idLength)}` };
}

/** The audit record of a change. */
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
