import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbedded } from '../../../app/embedded.ts';
import { type AuditRow, auditEntryOf } from '../../../engines/sqlite/audit-table.ts';
import { operatorEntriesConformance } from '../../operator-entries.conformance.ts';
import { createSqliteEntryStore } from './store.ts';

operatorEntriesConformance('sqlite', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'terse-entries-'));
  const { reader, writer } = await openEmbedded(folder);
  return {
    store: createSqliteEntryStore(reader, writer),
    trail: async () => reader.query<AuditRow, []>('SELECT * FROM audit ORDER BY seq').all().map(auditEntryOf),
    async dispose() {
      await writer.close();
      reader.close();
      rmSync(folder, { recursive: true });
    },
  };
});
