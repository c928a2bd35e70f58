import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSqliteEntryStore } from '../../abuse/stores/sqlite/store.ts';
import { createSqliteAccountStore } from '../../accounts/stores/sqlite/store.ts';
import { createSqliteStore } from '../../links/stores/sqlite/store.ts';
import { createSqliteAuditLog } from '../../moderation/stores/sqlite/audit-log.ts';
import { createSqliteReviewStore } from '../../moderation/stores/sqlite/store.ts';
import { openEmbedded } from '../embedded.ts';
import { installationConformance } from './installation.conformance.ts';
import { openSqliteSource, openSqliteTarget } from './sqlite.ts';

installationConformance('sqlite', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'terse-side-'));
  const opened: { close(): Promise<void> }[] = [];
  const keep = <Opened extends { close(): Promise<void> }>(each: Opened): Opened => {
    opened.push(each);
    return each;
  };
  return {
    async openStores() {
      const { reader, writer } = await openEmbedded(folder);
      return {
        links: keep(createSqliteStore(reader, writer)),
        accounts: createSqliteAccountStore(reader, writer),
        reviews: createSqliteReviewStore(reader, writer),
        audit: createSqliteAuditLog(reader, writer),
        blockEntries: createSqliteEntryStore(reader, writer),
      };
    },
    openSource: async () => keep(openSqliteSource(folder)),
    openTarget: async () => keep(openSqliteTarget(folder)),
    async dispose() {
      for (const each of opened) await each.close();
      rmSync(folder, { recursive: true });
    },
  };
});
