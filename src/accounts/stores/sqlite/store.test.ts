import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EmbeddedDatabase, openEmbedded } from '../../../app/embedded.ts';
import { type AuditRow, auditEntryOf } from '../../../engines/sqlite/audit-table.ts';
import { accountStoreConformance } from '../../store.conformance.ts';
import { createSqliteAccountStore } from './store.ts';

accountStoreConformance('sqlite', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'terse-accounts-'));
  const opened: EmbeddedDatabase[] = [];
  const open = async () => {
    const database = await openEmbedded(folder);
    opened.push(database);
    return createSqliteAccountStore(database.reader, database.writer);
  };
  const store = await open();
  const { reader } = opened[0]!;
  return {
    store,
    reopen: open,
    trail: async () => reader.query<AuditRow, []>('SELECT * FROM audit ORDER BY seq').all().map(auditEntryOf),
    async dispose() {
      for (const database of opened) {
        await database.writer.close();
        database.reader.close();
      }
      rmSync(folder, { recursive: true });
    },
  };
});
