/** All stores in one Postgres database: opens it, brings its tables up to date, and builds them. */
import { blocklistMigrations } from '../abuse/stores/postgres/schema.ts';
import { createPostgresEntryStore } from '../abuse/stores/postgres/store.ts';
import { accountMigrations } from '../accounts/stores/postgres/schema.ts';
import { createPostgresAccountStore } from '../accounts/stores/postgres/store.ts';
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import { auditMigrations } from '../engines/postgres/audit-table.ts';
import { stateOf } from '../engines/postgres/failures.ts';
import { runMigrations } from '../engines/postgres/migrations.ts';
import { openPostgres } from '../engines/postgres/postgres.ts';
import { readProgress } from '../engines/postgres/transfer-tables.ts';
import { linkMigrations } from '../links/stores/postgres/schema.ts';
import { createPostgresStore } from '../links/stores/postgres/store.ts';
import { createPostgresAuditLog } from '../moderation/stores/postgres/audit-log.ts';
import { keepReviewNotes } from '../moderation/stores/postgres/review-table.ts';
import { moderationMigrations } from '../moderation/stores/postgres/schema.ts';
import { createPostgresReviewStore } from '../moderation/stores/postgres/store.ts';
import type { Log } from '../ops/log.ts';
import { awaitStore, type Patience } from './await-store.ts';
import { requireFinished } from './migrate/progress.ts';
import type { Stores } from './stores.ts';

export interface PostgresStoresOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log?: Log;
  readonly patience?: Patience;
}

export const postgresMigrations = [
  auditMigrations,
  linkMigrations,
  accountMigrations,
  moderationMigrations,
  blocklistMigrations,
];

/** Closing the store of links closes the connections of all of them. */
export async function openPostgresStores(
  url: string,
  { clock, random, log, patience }: PostgresStoresOptions,
): Promise<Stores> {
  const postgres = openPostgres(url, { clock, ...(log && { log }) });
  try {
    const name = `Postgres at ${postgres.place}`;
    await awaitStore(() => runMigrations(postgres, postgresMigrations), {
      name,
      clock,
      random,
      log,
      isHopeless: isRefusedAtTheDoor,
      ...patience,
    });
    requireFinished(await readProgress(postgres));
  } catch (error) {
    await postgres.close();
    throw error;
  }
  return {
    links: createPostgresStore(postgres, { clock, keepReviews: keepReviewNotes }),
    accounts: createPostgresAccountStore(postgres),
    reviews: createPostgresReviewStore(postgres),
    audit: createPostgresAuditLog(postgres),
    blockEntries: createPostgresEntryStore(postgres),
    pool: () => ({ inUse: postgres.usage.busy, size: postgres.usage.connectionsMax }),
  };
}

/** A wrong name or password, or a database that nobody has made. */
function isRefusedAtTheDoor(error: unknown): boolean {
  const state = error instanceof Error ? stateOf(error.cause) : undefined;
  return state !== undefined && ['28', '3D'].includes(state.slice(0, 2));
}
