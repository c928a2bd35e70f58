/**
 * Postgres as a side of a migration. The source is only read; for a target that does not exist yet the tables are
 * created first, exactly as a server would have created them.
 */
import type { Clock } from '../../base/clock.ts';
import { runMigrations } from '../../engines/postgres/migrations.ts';
import { openPostgres, type Postgres } from '../../engines/postgres/postgres.ts';
import { progressNotes, transferMigrations } from '../../engines/postgres/transfer.ts';
import { postgresLinkTransfers } from '../../links/stores/postgres/transfer.ts';
import { createPostgresRecords } from '../../records/drivers/postgres.ts';
import { postgresMigrations } from '../../stores/postgres.ts';
import { type Installation, MigrationRefused, memoryInstallation } from './installation.ts';
import { recordKinds } from './record-kinds.ts';
import { recordTransfer } from './record-transfer.ts';

export const openPostgresSource = (url: string, clock: Clock): Promise<Installation> =>
  opened(url, clock, async (postgres, name) => {
    const versions = await versionsIn(postgres);
    if (versions.size === 0) throw new MigrationRefused(`there is no Terse installation in ${name}`);
    requireThisVersion(versions, name);
    return installationOf(postgres, name, clock);
  });

export const openPostgresTarget = (url: string, clock: Clock): Promise<Installation> =>
  opened(url, clock, async (postgres, name) => {
    await runMigrations(postgres, [...postgresMigrations, transferMigrations]);
    return installationOf(postgres, name, clock);
  });

/** A target that is only read: nothing is created where there is nothing. */
export const lookAtPostgresTarget = (url: string, clock: Clock): Promise<Installation> =>
  opened(url, clock, async (postgres, name) => {
    const versions = await versionsIn(postgres);
    if (versions.size === 0) return { ...memoryInstallation(name), close: () => postgres.close() };
    requireThisVersion(versions, name);
    return installationOf(postgres, name, clock);
  });

async function opened(
  url: string,
  clock: Clock,
  open: (postgres: Postgres, name: string) => Promise<Installation>,
): Promise<Installation> {
  const postgres = openPostgres(url, { clock });
  try {
    return await open(postgres, `postgres ${postgres.place}`);
  } catch (error) {
    await postgres.close();
    throw error;
  }
}

function installationOf(postgres: Postgres, name: string, clock: Clock): Installation {
  return {
    name,
    transfers: {
      ...postgresLinkTransfers(postgres),
      records: recordTransfer(createPostgresRecords(postgres, clock), recordKinds),
    },
    notes: progressNotes(postgres),
    close: () => postgres.close(),
  };
}

/** Empty where Terse has never run. */
async function versionsIn(postgres: Postgres): Promise<Map<string, number>> {
  const [table] = await postgres.query<{ name: string | null }>(
    "SELECT to_regclass('migrations')::text AS name",
  );
  if (table === undefined || table.name === null) return new Map();
  const rows = await postgres.query<{ component: string; version: number }>(
    'SELECT component, version FROM migrations',
  );
  return new Map(rows.map(({ component, version }) => [component, version]));
}

/** Columns are read by name, so tables of another version would be misread or not at all. */
function requireThisVersion(versions: ReadonlyMap<string, number>, name: string): void {
  if (postgresMigrations.every(({ component, steps }) => versions.get(component) === steps.length)) return;
  throw new MigrationRefused(
    `${name} was written by another version of Terse: start this version on it once, then migrate`,
  );
}
