/** The account store of Postgres as parts of a migration. */
import type { Postgres } from '../../../engines/postgres/postgres.ts';
import { tableTransfer } from '../../../engines/postgres/table-transfer.ts';
import type { AccountTransfers } from '../../transfer.ts';
import { accountsTable, invitationsTable, keysTable, sessionsTable } from '../transferred-tables.ts';

export const postgresAccountTransfers = (postgres: Postgres): AccountTransfers => ({
  accounts: tableTransfer(postgres, accountsTable),
  keys: tableTransfer(postgres, keysTable),
  sessions: tableTransfer(postgres, sessionsTable),
  invitations: tableTransfer(postgres, invitationsTable),
});
