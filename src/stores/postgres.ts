/** All stores in one Postgres database: opens it, migrates its tables, and builds them. */

import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import { stateOf } from '../engines/postgres/failures.ts';
import { runMigrations } from '../engines/postgres/migrations.ts';
import { openPostgres, type Postgres } from '../engines/postgres/postgres.ts';
import { readProgress } from '../engines/postgres/transfer.ts';
import { linkMigrations } from '../links/stores/postgres/schema.ts';
import { createPostgresStore } from '../links/stores/postgres/store.ts';
import { createPostgresRecords, recordMigrations } from '../records/drivers/postgres.ts';
import type { Log } from '../telemetry/log.ts';
import { awaitStore, requireFinished, type WaitPolicy } from './await-store.ts';
import { formerComponents, postgresFence } from './former-fence.ts';
import { type FormerTables, importFormerTables } from './former-tables.ts';
import { type Stores, storesOnRecords } from './stores.ts';

export interface PostgresStoresOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log?: Log;
  readonly wait?: WaitPolicy;
  /** How long routine entries of the audit log are kept. */
  readonly auditDays?: number;
}

export const postgresMigrations = [linkMigrations, recordMigrations, postgresFence];

/** Closing the store of links closes the connections of all of them. */
export async function openPostgresStores(
  url: string,
  { clock, random, log, wait, auditDays }: PostgresStoresOptions,
): Promise<Stores> {
  const postgres = openPostgres(url, { clock, ...(log && { log }) });
  const records = createPostgresRecords(postgres, clock);
  try {
    const name = `Postgres at ${postgres.place}`;
    const waiting = { name, clock, random, log, isHopeless: isLoginRefused, ...wait };
    await awaitStore(() => runMigrations(postgres, postgresMigrations), waiting);
    requireFinished(await awaitStore(() => readProgress(postgres), waiting));
    const former = formerTablesIn(postgres);
    await awaitStore(() => importFormerTables(records, former, { auditDays, clock }), waiting);
  } catch (error) {
    await postgres.close();
    throw error;
  }
  const onRecords = storesOnRecords(records, { clock, random }, auditDays);
  return {
    ...onRecords,
    links: createPostgresStore(postgres, { clock, traceWrites: onRecords.reviews.traceWrites }),
    pool: () => ({ inUse: postgres.usage.busy, size: postgres.usage.connectionsMax }),
  };
}

const formerTablesIn = (postgres: Postgres): FormerTables => ({
  async has(table) {
    const [row] = await postgres.query<{ has: boolean }>(
      `SELECT to_regclass($1) IS NOT NULL AND EXISTS (SELECT FROM migrations WHERE component = $2) AS has`,
      [table, formerComponents[table]],
    );
    return row!.has;
  },
  after: (table, column, value, limit) =>
    postgres.query(`SELECT * FROM ${table} WHERE ${column} > $1 ORDER BY ${column} LIMIT $2`, [value, limit]),
  having: (table, column, value) => postgres.query(`SELECT * FROM ${table} WHERE ${column} = $1`, [value]),
});

/** A wrong name or password, or a database that does not exist. */
function isLoginRefused(error: unknown): boolean {
  const state = error instanceof Error ? stateOf(error.cause) : undefined;
  return state !== undefined && ['28', '3D'].includes(state.slice(0, 2));
}
