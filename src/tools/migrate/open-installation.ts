/**
 * Opens a side of a migration by its address: `sqlite:FOLDER`, `postgres://…` or `dynamodb://…`. A source is only read. A
 * target is created where there is none, exactly as a server would have created it. Engines are loaded when they are
 * named.
 */
import { existsSync, mkdirSync, realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { blockEntryKind, blockListKind } from '../../abuse/operator-entries.ts';
import { accountKinds } from '../../accounts/account-records.ts';
import { auditKind } from '../../audit/audit-log.ts';
import { systemClock as clock } from '../../base/clock.ts';
import { systemRandom as random } from '../../base/random.ts';
import { hasAwsCredentials } from '../../config/config.ts';
import { healthWalkKind, linkHealthKind } from '../../health/health.ts';
import { reportKind, reviewKind } from '../../moderation/store.ts';
import { closeDataFolder } from '../../process/data-files.ts';
import type { RecordOperations } from '../../records/drivers/sqlite.ts';
import type { RecordKind } from '../../records/record-store.ts';
import { importKind } from '../../stores/former-tables.ts';
import { type Installation, MigrationRefused, memoryInstallation } from './installation.ts';
import { recordTransfer } from './record-transfer.ts';

/** Every kind of record there is. A new kind is declared beside its rules and listed here, to be copied and backed up. */
const recordKinds: readonly RecordKind<never>[] = [
  auditKind(),
  reviewKind,
  reportKind,
  blockEntryKind,
  blockListKind,
  linkHealthKind,
  healthWalkKind,
  importKind,
  ...(accountKinds as readonly RecordKind<never>[]),
];

/** `look` is a target that is only read, and not created if it does not exist. */
export type Role = 'source' | 'target' | 'look';

/** An engine that was reached, or will be by the first call. */
interface Store {
  readonly name: string;
  readonly migrations: readonly { readonly component: string; readonly steps: readonly unknown[] }[];
  /** The schema versions, by component; undefined where Terse has never run. */
  versions(): Promise<ReadonlyMap<string, number> | undefined>;
  /** Creates whatever is missing. */
  prepare(): Promise<void>;
  contents(): Pick<Installation, 'transfers' | 'notes' | 'imports'>;
  close(): Promise<void>;
}

type Versions = readonly { readonly component: string; readonly version: number }[];

/** No request waits for a page of a migration, and it is larger than what a request reads. */
const deadlines = { readDeadlineMs: 10_000, writeDeadlineMs: 20_000 };

export async function openInstallation(address: string, role: Role): Promise<Installation> {
  const store = await openStore(address);
  const close = () => store.close();
  try {
    if (role === 'target') await store.prepare();
    else {
      const { name } = store;
      const versions = await store.versions();
      if (versions === undefined && role === 'look') return { ...memoryInstallation(name), close };
      if (versions === undefined) throw new MigrationRefused(`there is no Terse installation in ${name}`);
      // Columns are read by name, so tables of another version would be misread or not at all.
      if (!store.migrations.every(({ component, steps }) => versions.get(component) === steps.length))
        throw new MigrationRefused(
          `${name} was written by another version of Terse: start this version on it once, then migrate`,
        );
    }
    return { name: store.name, ...store.contents(), close };
  } catch (error) {
    await close();
    throw error;
  }
}

function openStore(address: string): Promise<Store> {
  if (address.startsWith('dynamodb:')) return openDynamoDb(address);
  if (!address.startsWith('sqlite:')) return openPostgreSql(address);
  return openSqlite(address.slice('sqlite:'.length).replace(/^\/\/(?=.)/, ''));
}

const byComponent = (rows: Versions): ReadonlyMap<string, number> =>
  new Map(rows.map(({ component, version }) => [component, version]));

async function openSqlite(folder: string): Promise<Store> {
  const { openForReading, openForWriting } = await import('../../engines/sqlite/database.ts');
  const { migrate } = await import('../../engines/sqlite/migrations.ts');
  const { inTransaction, progressNotes, transferMigrations } = await import(
    '../../engines/sqlite/transfer.ts'
  );
  const { sqliteLinkTransfers } = await import('../../links/stores/sqlite/transfer.ts');
  const { createSqliteRecords, recordOperations } = await import('../../records/drivers/sqlite.ts');
  const { embeddedMigrations } = await import('../../stores/embedded.ts');
  const path = join(folder, 'terse.db');
  let database: ReturnType<typeof openForReading> | undefined;
  return {
    /** One folder has one name, however it is reached. */
    get name() {
      return `sqlite ${existsSync(folder) ? realpathSync(folder) : resolve(folder)}`;
    },
    migrations: embeddedMigrations,
    async versions() {
      if (!existsSync(path)) return undefined;
      database = openForReading(path);
      return byComponent(database.query('SELECT component, version FROM migrations').all() as Versions);
    },
    async prepare() {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      closeDataFolder(folder);
      database = openForWriting(path);
      for (const set of [...embeddedMigrations, transferMigrations]) migrate(database, set);
    },
    contents() {
      const opened = database!;
      /** Over the connection of the migration, because no server uses the file yet. */
      const run = async (name: keyof RecordOperations, input: unknown): Promise<never> => {
        let result: unknown;
        inTransaction(opened, () => {
          result = recordOperations(opened)[name](input as never);
        });
        return result as never;
      };
      const records = createSqliteRecords(opened, { run }, clock);
      return {
        transfers: { ...sqliteLinkTransfers(opened), records: recordTransfer(records, recordKinds) },
        notes: progressNotes(opened),
      };
    },
    async close() {
      database?.close();
    },
  };
}

async function openPostgreSql(url: string): Promise<Store> {
  const { runMigrations } = await import('../../engines/postgres/migrations.ts');
  const { openPostgres } = await import('../../engines/postgres/postgres.ts');
  const { progressNotes, transferMigrations } = await import('../../engines/postgres/transfer.ts');
  const { postgresLinkTransfers } = await import('../../links/stores/postgres/transfer.ts');
  const { createPostgresRecords } = await import('../../records/drivers/postgres.ts');
  const { postgresMigrations } = await import('../../stores/postgres.ts');
  const postgres = openPostgres(url, { clock });
  return {
    name: `postgres ${postgres.place}`,
    migrations: postgresMigrations,
    async versions() {
      const text = "SELECT to_regclass('migrations') IS NOT NULL AS has";
      if (!(await postgres.query<{ has: boolean }>(text))[0]?.has) return undefined;
      const rows: Versions = await postgres.query('SELECT component, version FROM migrations');
      return rows.length === 0 ? undefined : byComponent(rows);
    },
    async prepare() {
      await runMigrations(postgres, [...postgresMigrations, transferMigrations]);
    },
    contents() {
      const records = recordTransfer(createPostgresRecords(postgres, clock), recordKinds);
      return { transfers: { ...postgresLinkTransfers(postgres), records }, notes: progressNotes(postgres) };
    },
    close: () => postgres.close(),
  };
}

async function openDynamoDb(url: string): Promise<Store> {
  const { parseAddress } = await import('../../engines/dynamodb/address.ts');
  const { openDynamo } = await import('../../engines/dynamodb/dynamodb.ts');
  const { TableWalk } = await import('../../engines/dynamodb/table-walk.ts');
  const { progressNotes, readProgress } = await import('../../engines/dynamodb/transfer.ts');
  const { dynamoLinkTransfers } = await import('../../links/stores/dynamodb/transfer.ts');
  const { createDynamoRecords } = await import('../../records/drivers/dynamodb.ts');
  const { formerItems } = await import('../../stores/former-items.ts');
  const { table, region, endpoint } = parseAddress(url);
  const dynamo = openDynamo(url, { clock, random, hasCredentials: hasAwsCredentials(), ...deadlines });
  return {
    name: `dynamodb ${table} at ${endpoint ?? region}`,
    migrations: [],
    async versions() {
      try {
        await readProgress(dynamo);
        return new Map();
      } catch (error) {
        const cause = (error as { cause?: unknown }).cause;
        if (cause instanceof Error && cause.name === 'ResourceNotFoundException') return undefined;
        throw error;
      }
    },
    async prepare() {
      await dynamo.ensureTable();
    },
    contents() {
      const walk = new TableWalk(dynamo);
      const records = recordTransfer(createDynamoRecords(dynamo, clock, walk), recordKinds);
      const transfers = { ...dynamoLinkTransfers(dynamo, walk), records };
      return { transfers, notes: progressNotes(dynamo), imports: formerItems };
    },
    async close() {
      dynamo.close();
    },
  };
}
