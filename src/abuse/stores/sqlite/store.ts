/** Operator entries in the embedded database, beside the links. */
import type { Database } from 'bun:sqlite';
import type { SqliteWriter } from '../../../engines/sqlite/writer.ts';
import type { OperatorEntryStore } from '../../operator-entries.ts';
import { type BlocklistOperations, operatorEntryOf } from './operations.ts';
import type { BlockEntryRow } from './schema.ts';

export function createSqliteEntryStore(
  reader: Database,
  writer: SqliteWriter<BlocklistOperations>,
): OperatorEntryStore {
  const revision = reader.query<{ revision: number }, []>('SELECT revision FROM block_revision');
  const all = reader.query<BlockEntryRow, []>(
    'SELECT id, entry, reason, added_at, added_by FROM block_entries ORDER BY seq',
  );
  return {
    revision: async () => revision.get()!.revision,
    list: async () => all.all().map(operatorEntryOf),
    add: (entry, change) => writer.run('addBlockEntry', { entry, change }),
    remove: (id, change) => writer.run('removeBlockEntry', { id, change }),
  };
}
