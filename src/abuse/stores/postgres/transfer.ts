/** The operators' blocklist entries of Postgres as a part of a migration. */
import type { Postgres } from '../../../engines/postgres/postgres.ts';
import { tableTransfer } from '../../../engines/postgres/table-transfer.ts';
import type { AbuseTransfers } from '../../transfer.ts';
import { blockEntriesTable } from '../transferred-table.ts';

export const postgresAbuseTransfers = (postgres: Postgres): AbuseTransfers => ({
  blockEntries: tableTransfer(postgres, blockEntriesTable),
});
