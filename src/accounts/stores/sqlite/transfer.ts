/** The account store of the embedded database as parts of a migration. */
import type { Database } from 'bun:sqlite';
import { tableTransfer } from '../../../engines/sqlite/table-transfer.ts';
import type { AccountTransfers } from '../../transfer.ts';
import { accountsTable, invitationsTable, keysTable, sessionsTable } from '../transferred-tables.ts';

export const sqliteAccountTransfers = (database: Database): AccountTransfers => ({
  accounts: tableTransfer(database, {
    ...accountsTable,
    columns: [...accountsTable.columns, 'is_admin'],
    // It stays beside the role for the processes of an earlier version that still run.
    rowOf: account => ({ ...accountsTable.rowOf(account), is_admin: account.role === 'admin' ? 1 : 0 }),
  }),
  keys: tableTransfer(database, keysTable),
  sessions: tableTransfer(database, sessionsTable),
  invitations: tableTransfer(database, invitationsTable),
});
