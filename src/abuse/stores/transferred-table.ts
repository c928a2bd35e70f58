/** The table of the operators' blocklist entries, as the SQL engines carry it in a migration. */
import type { TransferredTable } from '../../base/transferred-table.ts';
import type { OperatorEntry } from '../operator-entries.ts';

interface BlockEntryRow {
  id: string;
  entry: string;
  reason: string | null;
  added_at: number;
  added_by: string | null;
}

export const blockEntriesTable: TransferredTable<OperatorEntry, BlockEntryRow> = {
  part: 'blocklist entries',
  table: 'block_entries',
  key: ['id'],
  order: 'seq',
  columns: ['id', 'entry', 'reason', 'added_at', 'added_by'],
  rowOf: ({ id, entry, reason, addedAt, addedBy }) => ({
    id,
    entry,
    reason,
    added_at: addedAt,
    added_by: addedBy,
  }),
  valueOf: ({ id, entry, reason, added_at, added_by }) => ({
    id,
    entry,
    reason,
    addedAt: added_at,
    addedBy: added_by,
  }),
  afterwards: 'UPDATE block_revision SET revision = revision + 1',
};
