/** Opens the stores that the settings name; whoever uses them knows only their ports. */
import type { OperatorEntryStore } from '../abuse/operator-entries.ts';
import { createMemoryEntryStore } from '../abuse/stores/memory.ts';
import { createSqliteEntryStore } from '../abuse/stores/sqlite/store.ts';
import type { AccountStore } from '../accounts/store.ts';
import { createMemoryAccountStore } from '../accounts/stores/memory.ts';
import { createSqliteAccountStore } from '../accounts/stores/sqlite/store.ts';
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import { readProgress } from '../engines/sqlite/transfer-tables.ts';
import type { LinkStore } from '../links/store.ts';
import { createMemoryStore } from '../links/stores/memory.ts';
import { createSqliteStore } from '../links/stores/sqlite/store.ts';
import type { AuditLog } from '../moderation/audit.ts';
import type { ReviewStore } from '../moderation/store.ts';
import { createMemoryModeration } from '../moderation/stores/memory.ts';
import { createSqliteAuditLog } from '../moderation/stores/sqlite/audit-log.ts';
import { createSqliteReviewStore } from '../moderation/stores/sqlite/store.ts';
import type { Log } from '../ops/log.ts';
import type { Patience } from './await-store.ts';
import { type Config, hasAwsCredentials } from './config.ts';
import { openEmbedded } from './embedded.ts';
import { requireFinished } from './migrate/progress.ts';

export interface Stores {
  readonly links: LinkStore;
  readonly accounts: AccountStore;
  readonly reviews: ReviewStore;
  readonly audit: AuditLog;
  readonly blockEntries: OperatorEntryStore;
  /** How much of what the store can work on at once is taken; for an engine that has no such bound, nothing. */
  readonly pool?: () => PoolFigures;
}

export interface PoolFigures {
  readonly inUse: number;
  readonly size: number;
}

export interface StoresOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** How an engine that is away is waited for. */
  readonly patience?: Patience;
}

const dayMs = 24 * 60 * 60 * 1_000;

/** Engines that are servers are loaded when they are chosen: nobody else should wait for their clients to load. */
export async function openStores(config: Config, options: StoresOptions): Promise<Stores> {
  if (config.links.startsWith('postgres:')) {
    const { openPostgresStores } = await import('./postgres.ts');
    return openPostgresStores(config.links, options);
  }
  if (config.links.startsWith('dynamodb:')) {
    const { openDynamoStores } = await import('./dynamodb.ts');
    const expiryGraceMs = config.expiryGraceDays * dayMs;
    const { auditDays } = config;
    const hasCredentials = hasAwsCredentials();
    return openDynamoStores(config.links, { ...options, expiryGraceMs, auditDays, hasCredentials });
  }
  if (config.links === 'memory') {
    const { keepTrace, appendAudit, reviews, audit } = createMemoryModeration();
    const accounts = createMemoryAccountStore(record => appendAudit([record]));
    const blockEntries = createMemoryEntryStore(record => appendAudit([record]));
    return { links: createMemoryStore(keepTrace), accounts, reviews, audit, blockEntries };
  }
  const { reader, writer, patient } = await openEmbedded(config.data);
  const links = createSqliteStore(reader, writer, patient);
  try {
    requireFinished(readProgress(reader));
  } catch (error) {
    await links.close();
    throw error;
  }
  return {
    links,
    accounts: createSqliteAccountStore(reader, writer),
    reviews: createSqliteReviewStore(reader, writer),
    audit: createSqliteAuditLog(reader, writer),
    blockEntries: createSqliteEntryStore(reader, writer),
    pool: () => ({ inUse: writer.usage.queued, size: writer.usage.queuedMax }),
  };
}
