/** A fresh Postgres database with tables in it, and handles to it, as several processes would have. */
import { type MigrationSet, runMigrations } from '../../src/engines/postgres/migrations.ts';
import { openPostgres, type Postgres } from '../../src/engines/postgres/postgres.ts';
import { createPostgresRecords } from '../../src/records/drivers/postgres.ts';
import { atTheBeginning, wholeTrail } from './audit-trail.ts';
import { sharedPostgres } from './engines/postgres.ts';
import { patientClock } from './patient-clock.ts';

export interface PostgresHandles {
  readonly first: Postgres;
  open(): Postgres;
  /** Closes all handles. */
  close(): Promise<void>;
}

export async function openPostgresHandles(sets: readonly MigrationSet[]): Promise<PostgresHandles> {
  const url = await (await sharedPostgres()).freshDatabase();
  const opened: Postgres[] = [];
  const open = (): Postgres => {
    const postgres = openPostgres(url, { clock: patientClock });
    opened.push(postgres);
    return postgres;
  };
  const first = open();
  await runMigrations(first, sets);
  return {
    first,
    open,
    async close() {
      await Promise.all(opened.map(postgres => postgres.close()));
    },
  };
}

/** The whole audit log, oldest first. */
export const auditTrailOf = (postgres: Postgres) =>
  wholeTrail(createPostgresRecords(postgres, atTheBeginning));
