/** The operators' blocklist entries of the embedded database as a part of a migration. */
import type { Database } from 'bun:sqlite';
import { tableTransfer } from '../../../engines/sqlite/table-transfer.ts';
import type { AbuseTransfers } from '../../transfer.ts';
import { blockEntriesTable } from '../transferred-table.ts';

export const sqliteAbuseTransfers = (database: Database): AbuseTransfers => ({
  blockEntries: tableTransfer(database, blockEntriesTable),
});
