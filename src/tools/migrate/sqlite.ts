/**
 * The embedded database as a side of a migration. The source is opened read-only; a target is created where there is
 * none, and written over its own connection, because no server uses it yet.
 */
import { existsSync, mkdirSync, realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { systemClock } from '../../base/clock.ts';
import { openForReading, openForWriting } from '../../engines/sqlite/database.ts';
import { migrate } from '../../engines/sqlite/migrations.ts';
import { inTransaction } from '../../engines/sqlite/table-transfer.ts';
import { progressNotes, transferMigrations } from '../../engines/sqlite/transfer-tables.ts';
import type { SqliteWriter } from '../../engines/sqlite/writer.ts';
import { sqliteLinkTransfers } from '../../links/stores/sqlite/transfer.ts';
import { closeDataFolder } from '../../process/data-files.ts';
import {
  createSqliteRecords,
  type RecordOperations,
  recordOperations,
} from '../../records/drivers/sqlite.ts';
import type { RecordStore } from '../../records/record-store.ts';
import { embeddedMigrations } from '../../stores/embedded-schema.ts';
import { type Installation, MigrationRefused, memoryInstallation } from './installation.ts';
import { recordKinds } from './record-kinds.ts';
import { recordTransfer } from './record-transfer.ts';

type Database = ReturnType<typeof openForReading>;

export function openSqliteSource(folder: string): Installation {
  const path = join(folder, 'terse.db');
  if (!existsSync(path)) throw new MigrationRefused(`there is no Terse installation in ${nameOf(folder)}`);
  const database = openForReading(path);
  requireThisVersion(database, folder);
  return installationOf(database, folder);
}

export function openSqliteTarget(folder: string): Installation {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  closeDataFolder(folder);
  const database = openForWriting(join(folder, 'terse.db'));
  for (const set of [...embeddedMigrations, transferMigrations]) migrate(database, set);
  return installationOf(database, folder);
}

/** A target that is only read: nothing is created where there is nothing. */
export function lookAtSqliteTarget(folder: string): Installation {
  const path = join(folder, 'terse.db');
  if (!existsSync(path)) return memoryInstallation(nameOf(folder));
  const database = openForReading(path);
  requireThisVersion(database, folder);
  return installationOf(database, folder);
}

function installationOf(database: Database, folder: string): Installation {
  return {
    name: nameOf(folder),
    transfers: {
      ...sqliteLinkTransfers(database),
      records: recordTransfer(recordsOf(database), recordKinds),
    },
    notes: progressNotes(database),
    async close() {
      database.close();
    },
  };
}

/** Writes over the connection of the migration, because no server uses the file yet. */
function recordsOf(database: Database): RecordStore {
  const run = (name: keyof RecordOperations, input: never): unknown => {
    let result: unknown;
    inTransaction(database, () => {
      result = recordOperations(database)[name](input);
    });
    return result;
  };
  const writer = { run: async (name: keyof RecordOperations, input: unknown) => run(name, input as never) };
  return createSqliteRecords(database, writer as Pick<SqliteWriter<RecordOperations>, 'run'>, systemClock);
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
