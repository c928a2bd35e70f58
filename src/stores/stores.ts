/** Opens the stores that the settings name; the code that uses them knows only their ports. */

import { createOperatorEntries, type OperatorEntryStore } from '../abuse/operator-entries.ts';
import { type AccountStore, createAccountStore } from '../accounts/store.ts';
import { type AuditLog, createAuditLog } from '../audit/audit-log.ts';
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import { type Config, hasAwsCredentials } from '../config/config.ts';
import { readProgress } from '../engines/sqlite/transfer.ts';
import type { LinkStore } from '../links/store.ts';
import { createMemoryStore } from '../links/stores/memory.ts';
import { createSqliteStore } from '../links/stores/sqlite/store.ts';
import { createReviewStore, type ReviewStore } from '../moderation/store.ts';
import { createMemoryRecords } from '../records/drivers/memory.ts';
import { createSqliteRecords } from '../records/drivers/sqlite.ts';
import type { RecordStore } from '../records/record-store.ts';
import type { Log } from '../telemetry/log.ts';
import { requireFinished, type WaitPolicy } from './await-store.ts';
import { type EmbeddedDatabase, openEmbedded } from './embedded.ts';
import { type FormerTables, importFormerTables } from './former-tables.ts';

export interface Stores extends StoresOnRecords {
  readonly links: LinkStore;
  /** How much of the store's concurrency is in use; undefined for an engine without such a bound. */
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
  /** How to wait for an engine that is down. */
  readonly wait?: WaitPolicy;
}

const dayMs = 24 * 60 * 60 * 1_000;

/** Engines that are servers are loaded when chosen: other installations should not wait for their clients to load. */
export async function openStores(config: Config, options: StoresOptions): Promise<Stores> {
  if (config.links.startsWith('postgres:')) {
    const { openPostgresStores } = await import('./postgres.ts');
    return openPostgresStores(config.links, { ...options, auditDays: config.auditDays });
  }
  if (config.links.startsWith('dynamodb:')) {
    const { openDynamoStores } = await import('./dynamodb.ts');
    const expiryGraceMs = config.expiryGraceDays * dayMs;
    const { auditDays } = config;
    const hasCredentials = hasAwsCredentials();
    return openDynamoStores(config.links, { ...options, expiryGraceMs, auditDays, hasCredentials });
  }
  if (config.links === 'memory') {
    const records = createMemoryRecords(options.clock);
    const onRecords = storesOnRecords(records, options, config.auditDays);
    return { ...onRecords, links: createMemoryStore(onRecords.reviews.traceWrites, records.write) };
  }
  const { reader, writer, patient } = await openEmbedded(config.data);
  const onRecords = storesOnRecords(
    createSqliteRecords(reader, writer, options.clock),
    options,
    config.auditDays,
  );
  const links = createSqliteStore(reader, writer, patient, onRecords.reviews.traceWrites);
  try {
    requireFinished(readProgress(reader));
    const { auditDays } = config;
    await importFormerTables(onRecords.records, formerTablesIn(reader), { auditDays, clock: options.clock });
  } catch (error) {
    await links.close();
    throw error;
  }
  return {
    ...onRecords,
    links,
    pool: () => ({ inUse: writer.usage.queued, size: writer.usage.queuedMax }),
  };
}

const formerTablesIn = (reader: EmbeddedDatabase['reader']): FormerTables => ({
  has: async table => reader.query('SELECT 1 FROM sqlite_master WHERE name = ?').get(table) !== null,
  after: async (table, column, value, limit) =>
    reader.query(`SELECT * FROM ${table} WHERE ${column} > ?1 ORDER BY ${column} LIMIT ?2`).all(value, limit),
  having: async (table, column, value) =>
    reader.query(`SELECT * FROM ${table} WHERE ${column} = ?`).all(value),
});

/** The stores that are records, on the record store of whichever engine was chosen. */
export interface StoresOnRecords {
  readonly records: RecordStore;
  readonly audit: AuditLog;
  readonly accounts: AccountStore;
  readonly reviews: ReviewStore;
  readonly blockEntries: OperatorEntryStore;
}

/** `auditDays`: how long routine entries of the audit trail are kept. */
export function storesOnRecords(
  records: RecordStore,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
  auditDays?: number,
): StoresOnRecords {
  const audit = createAuditLog({ records, random, routineDays: auditDays });
  const parts = { records, audit, clock, random };
  return {
    records,
    audit,
    accounts: createAccountStore(parts),
    reviews: createReviewStore(parts),
    blockEntries: createOperatorEntries(parts),
  };
}
