/**
 * Everything that changes accounts, keys and sessions, run on the writer thread inside its shared transaction. What
 * a change leaves in the audit trail is written there too, so that neither is ever found without the other.
 */
import type { Database } from 'bun:sqlite';
import { prepareAuditAppend } from '../../../engines/sqlite/audit-table.ts';
import { accountWrites } from './account-writes.ts';
import { keyWrites } from './key-writes.ts';
import { sessionWrites } from './session-writes.ts';

export function accountOperations(database: Database) {
  const keep = prepareAuditAppend(database);
  const keys = keyWrites(database, keep);
  const sessions = sessionWrites(database, keep);
  return { ...accountWrites(database, keep, keys, sessions), ...keys, ...sessions };
}

export type AccountOperations = ReturnType<typeof accountOperations>;
