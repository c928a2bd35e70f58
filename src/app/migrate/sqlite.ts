/**
 * The embedded database as a side of a migration. The source is opened so that it cannot be written to; a target is
 * made where there is none, and written by a connection of its own, because no server uses it yet.
 */
import { existsSync, mkdirSync, realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { sqliteAbuseTransfers } from '../../abuse/stores/sqlite/transfer.ts';
import { sqliteAccountTransfers } from '../../accounts/stores/sqlite/transfer.ts';
import { openForReading, openForWriting } from '../../engines/sqlite/database.ts';
import { migrate } from '../../engines/sqlite/migrations.ts';
import {
  forgetTransferredAudit,
  readProgress,
  saveProgress,
  takeProgress,
  transferMigrations,
} from '../../engines/sqlite/transfer-tables.ts';
import { sqliteLinkTransfers } from '../../links/stores/sqlite/transfer.ts';
import { sqliteModerationTransfers } from '../../moderation/stores/sqlite/transfer.ts';
import { closeDataFolder } from '../data-files.ts';
import { embeddedMigrations } from '../embedded-schema.ts';
import { type Installation, MigrationRefused } from './installation.ts';
import { memoryInstallation } from './memory.ts';

type Database = ReturnType<typeof openForReading>;

export function openSqliteSource(folder: string): Installation {
  const path = join(folder, 'terse.db');
  if (!existsSync(path)) throw new MigrationRefused(`there is no Terse installation in ${nameOf(folder)}`);
  const database = openForReading(path);
  requireThisVersion(database, folder);
  return installationOf(database, folder, 'source');
}

export function openSqliteTarget(folder: string): Installation {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  closeDataFolder(folder);
  const database = openForWriting(join(folder, 'terse.db'));
  for (const set of [...embeddedMigrations, transferMigrations]) migrate(database, set);
  return installationOf(database, folder, 'target');
}

/** A target that is only looked at: nothing is made where there is nothing. */
export function lookAtSqliteTarget(folder: string): Installation {
  const path = join(folder, 'terse.db');
  if (!existsSync(path)) return memoryInstallation(nameOf(folder));
  const database = openForReading(path);
  requireThisVersion(database, folder);
  return installationOf(database, folder, readProgress(database) === undefined ? 'source' : 'target');
}

function installationOf(database: Database, folder: string, side: 'source' | 'target'): Installation {
  return {
    name: nameOf(folder),
    transfers: {
      ...sqliteLinkTransfers(database),
      ...sqliteAccountTransfers(database),
      ...sqliteModerationTransfers(database, side),
      ...sqliteAbuseTransfers(database),
    },
    notes: {
      load: async () => readProgress(database),
      take: async (runner, text) => takeProgress(database, runner, text),
      save: async (runner, text) => saveProgress(database, runner, text),
      tidyUp: async () => forgetTransferredAudit(database),
    },
    async close() {
      database.close();
    },
  };
}

/** One folder has one name, however it is reached. */
function nameOf(folder: string): string {
  return `sqlite ${existsSync(folder) ? realpathSync(folder) : resolve(folder)}`;
}

/** Columns are read by name, so a file of another version would be misread or not at all. */
function requireThisVersion(database: Database, folder: string): void {
  const versions = new Map(
    database
      .query<{ component: string; version: number }, []>('SELECT component, version FROM migrations')
      .all()
      .map(({ component, version }) => [component, version]),
  );
  if (embeddedMigrations.every(({ component, steps }) => versions.get(component) === steps.length)) return;
  throw new MigrationRefused(
    `${nameOf(folder)} was written by another version of Terse: start this version on it once, then migrate`,
  );
}
