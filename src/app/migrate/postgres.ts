/**
 * Postgres as a side of a migration. The source is only read; of a target that is not there yet the tables are made
 * first, so that a server finds it as it would have made it itself.
 */
import { postgresAbuseTransfers } from '../../abuse/stores/postgres/transfer.ts';
import { postgresAccountTransfers } from '../../accounts/stores/postgres/transfer.ts';
import type { Clock } from '../../base/clock.ts';
import { runMigrations } from '../../engines/postgres/migrations.ts';
import { openPostgres, type Postgres } from '../../engines/postgres/postgres.ts';
import {
  forgetTransferredAudit,
  readProgress,
  saveProgress,
  takeProgress,
  transferMigrations,
} from '../../engines/postgres/transfer-tables.ts';
import { postgresLinkTransfers } from '../../links/stores/postgres/transfer.ts';
import { postgresModerationTransfers } from '../../moderation/stores/postgres/transfer.ts';
import { postgresMigrations } from '../postgres.ts';
import { type Installation, MigrationRefused } from './installation.ts';
import { memoryInstallation } from './memory.ts';

export const openPostgresSource = (url: string, clock: Clock): Promise<Installation> =>
  opened(url, clock, async (postgres, name) => {
    const versions = await versionsIn(postgres);
    if (versions.size === 0) throw new MigrationRefused(`there is no Terse installation in ${name}`);
    requireThisVersion(versions, name);
    return installationOf(postgres, name, 'source');
  });

export const openPostgresTarget = (url: string, clock: Clock): Promise<Installation> =>
  opened(url, clock, async (postgres, name) => {
    await runMigrations(postgres, [...postgresMigrations, transferMigrations]);
    return installationOf(postgres, name, 'target');
  });

/** A target that is only looked at: nothing is made where there is nothing. */
export const lookAtPostgresTarget = (url: string, clock: Clock): Promise<Installation> =>
  opened(url, clock, async (postgres, name) => {
    const versions = await versionsIn(postgres);
    if (versions.size === 0) return { ...memoryInstallation(name), close: () => postgres.close() };
    requireThisVersion(versions, name);
    return installationOf(postgres, name, (await readProgress(postgres)) === undefined ? 'source' : 'target');
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

function installationOf(postgres: Postgres, name: string, side: 'source' | 'target'): Installation {
  return {
    name,
    transfers: {
      ...postgresLinkTransfers(postgres),
      ...postgresAccountTransfers(postgres),
      ...postgresModerationTransfers(postgres, side),
      ...postgresAbuseTransfers(postgres),
    },
    notes: {
      load: () => readProgress(postgres),
      take: (runner, text) => takeProgress(postgres, runner, text),
      save: (runner, text) => saveProgress(postgres, runner, text),
      tidyUp: () => forgetTransferredAudit(postgres),
    },
    close: () => postgres.close(),
  };
}

/** Empty where no Terse has ever been. */
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
