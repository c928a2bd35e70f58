/** Everything that changes operator entries, run on the writer thread inside its shared transaction. */
import type { Database } from 'bun:sqlite';
import { prepareAuditAppend } from '../../../engines/sqlite/audit-table.ts';
import {
  type EntryChange,
  entryRecord,
  type OperatorEntry,
  operatorEntriesMax,
} from '../../operator-entries.ts';
import type { BlockEntryRow } from './schema.ts';

export function blocklistOperations(database: Database) {
  const appendAudit = prepareAuditAppend(database);
  const count = database.query<{ kept: number }, []>('SELECT count(*) AS kept FROM block_entries');
  const byId = database.query<BlockEntryRow, [string]>('SELECT * FROM block_entries WHERE id = ?');
  const insert = database.query(
    'INSERT INTO block_entries (id, entry, reason, added_at, added_by) VALUES (?, ?, ?, ?, ?)',
  );
  const remove = database.query('DELETE FROM block_entries WHERE id = ?');
  const raiseRevision = database.query('UPDATE block_revision SET revision = revision + 1');

  return {
    addBlockEntry({
      entry,
      change,
    }: {
      entry: OperatorEntry;
      change: EntryChange;
    }): 'added' | 'exists' | 'full' {
      if (byId.get(entry.id) !== null) return 'exists';
      if (count.get()!.kept >= operatorEntriesMax) return 'full';
      insert.run(entry.id, entry.entry, entry.reason, entry.addedAt, entry.addedBy);
      raiseRevision.run();
      appendAudit(entryRecord('added', entry, change));
      return 'added';
    },
    removeBlockEntry({ id, change }: { id: string; change: EntryChange }): boolean {
      const row = byId.get(id);
      if (row === null) return false;
      remove.run(id);
      raiseRevision.run();
      appendAudit(entryRecord('removed', operatorEntryOf(row), change));
      return true;
    },
  };
}

export type BlocklistOperations = ReturnType<typeof blocklistOperations>;

export const operatorEntryOf = (row: BlockEntryRow): OperatorEntry => ({
  id: row.id,
  entry: row.entry,
  reason: row.reason,
  addedAt: row.added_at,
  addedBy: row.added_by,
});
