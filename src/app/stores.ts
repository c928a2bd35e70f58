/** Opens the stores that the settings name; whoever uses them knows only their ports. */
import type { OperatorEntryStore } from '../abuse/operator-entries.ts';
import { createMemoryEntryStore } from '../abuse/stores/memory.ts';
import { createSqliteEntryStore } from '../abuse/stores/sqlite/store.ts';
import type { AccountStore } from '../accounts/store.ts';
import { createMemoryAccountStore } from '../accounts/stores/memory.ts';
import { createSqliteAccountStore } from '../accounts/stores/sqlite/store.ts';
import type { LinkStore } from '../links/store.ts';
import { createMemoryStore } from '../links/stores/memory.ts';
import { createSqliteStore } from '../links/stores/sqlite/store.ts';
import type { AuditLog } from '../moderation/audit.ts';
import type { ReviewStore } from '../moderation/store.ts';
import { createMemoryModeration } from '../moderation/stores/memory.ts';
import { createSqliteAuditLog } from '../moderation/stores/sqlite/audit-log.ts';
import { createSqliteReviewStore } from '../moderation/stores/sqlite/store.ts';
import type { Config } from './config.ts';
import { openEmbedded } from './embedded.ts';

export interface Stores {
  readonly links: LinkStore;
  readonly accounts: AccountStore;
  readonly reviews: ReviewStore;
  readonly audit: AuditLog;
  readonly blockEntries: OperatorEntryStore;
}

export async function openStores(config: Config): Promise<Stores> {
  if (config.links === 'memory') {
    const { keepTrace, appendAudit, reviews, audit } = createMemoryModeration();
    const accounts = createMemoryAccountStore(record => appendAudit([record]));
    const blockEntries = createMemoryEntryStore(record => appendAudit([record]));
    return { links: createMemoryStore(keepTrace), accounts, reviews, audit, blockEntries };
  }
  const { reader, writer } = await openEmbedded(config.data);
  return {
    links: createSqliteStore(reader, writer),
    accounts: createSqliteAccountStore(reader, writer),
    reviews: createSqliteReviewStore(reader, writer),
    audit: createSqliteAuditLog(reader, writer),
    blockEntries: createSqliteEntryStore(reader, writer),
  };
}
