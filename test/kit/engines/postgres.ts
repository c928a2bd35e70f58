/**
 * Real Postgres for tests: one that a whole test process shares, with a database per caller, and exclusive ones that a
 * test can pause and kill, with a streaming replica on request.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Client } from 'pg';
import { type Engine, EngineProcess, startEngine } from './engine-process.ts';
import { thingOf } from './found.ts';
import { findPostgres, postgresUid, superuser } from './postgres-programs.ts';
import { type Revivable, shareEngine } from './shared-engine.ts';
import { runs } from './unpacked-package.ts';

export interface SharedPostgres extends Revivable {
  /** The address of a new, empty database. */
  freshDatabase(): Promise<string>;
}

export interface PostgresServer extends Engine {
  /** The address of an empty database. */
  readonly url: string;
  /** Host and port alone, as the `replica` part of an address wants them. */
  readonly address: string;
}

export interface PostgresEngine extends PostgresServer, SharedPostgres {
  /** A read-only replica of the primary. Paused and killed separately, stopped together. */
  readonly replica?: PostgresServer;
}

export interface PostgresOptions {
  readonly replica?: boolean;
  /** Maps the primary's address to the address that the replica connects to; the same address by default. */
  readonly replicaThrough?: (address: string) => Promise<string>;
  /** Only needed if the machine loses power, which no test causes. */
  readonly fsync?: boolean;
  /** Server settings, such as `{ max_connections: '20' }`. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** One per test process, or the server that TERSE_TEST_POSTGRES names. No test may pause or stop it. */
export const sharedPostgres = shareEngine(async (): Promise<SharedPostgres> => {
  const given = process.env.TERSE_TEST_POSTGRES;
  return given === undefined
    ? startPostgres({ fsync: false })
    : { freshDatabase: () => createDatabase(given) };
});

/** An exclusive one, which the caller stops. */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresEngine> {
  const primary = await startServer(options);
  if (options.replica !== true) return primary;
  try {
    const through = await options.replicaThrough?.(primary.address);
    primary.replica = await startServer(options, through ?? primary.address);
    return primary;
  } catch (error) {
    await primary.stop();
    throw error;
  }
}

class PostgresProcess extends EngineProcess implements PostgresEngine {
  readonly url: string;
  readonly address: string;
  replica?: PostgresProcess;

  constructor(folder: string, port: number, command: readonly string[]) {
    const address = `127.0.0.1:${port}`;
    const url = `postgres://${superuser}@${address}/postgres`;
    super(folder, {
      name: 'Postgres',
      command,
      uid: postgresUid,
      // "Fast" shutdown: it ends its connections instead of waiting for them.
      stopSignal: 'SIGINT',
      async isReady() {
        const [row] = await query(url, 'SHOW data_directory');
        return row?.data_directory === join(folder, 'data');
      },
    });
    this.url = url;
    this.address = address;
  }

  freshDatabase(): Promise<string> {
    return createDatabase(this.url);
  }

  override async stop(): Promise<void> {
    // The replica first, because a primary waits for its replicas when it ends.
    await this.replica?.stop();
    await super.stop();
  }
}

/** With `primaryAddress` it starts as a replica of that server. */
function startServer(options: PostgresOptions, primaryAddress?: string): Promise<PostgresProcess> {
  const { server, template } = thingOf(findPostgres());
  return startEngine('postgres', (folder, port) => {
    const data = join(folder, 'data');
    // A replica starts from the same copy as its primary and replicates everything since.
    if (!existsSync(data)) copyForPostgres(template, data);
    if (primaryAddress !== undefined) writeFileSync(join(data, 'standby.signal'), '');
    const settings = {
      ...settingsOf(options, port),
      ...(primaryAddress !== undefined && settingsToFollow(primaryAddress)),
    };
    const pairs = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    return new PostgresProcess(folder, port, [server, '-D', data, ...pairs]);
  });
}

function settingsOf({ fsync = true, settings }: PostgresOptions, port: number): Record<string, string> {
  return {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    max_connections: '300',
    // Shared memory in the data folder, which is removed: a killed server would leave files in /dev/shm.
    dynamic_shared_memory_type: 'mmap',
    // Enough for a replica that was down for a while.
    wal_keep_size: '512MB',
    fsync: fsync ? 'on' : 'off',
    ...settings,
  };
}

function settingsToFollow(address: string): Record<string, string> {
  const { hostname, port } = new URL(`postgres://${address}`);
  return {
    primary_conninfo: `host=${hostname} port=${port} user=${superuser}`,
    // At least as many as the primary ever allowed, or the replica does not start.
    max_connections: '1000',
  };
}

function copyForPostgres(template: string, data: string): void {
  const folder = dirname(data);
  const changeOwner = ['chown', '-R', `${postgresUid}:${postgresUid}`, folder];
  const isDone =
    runs(['cp', '-R', template, data], folder) && (postgresUid === undefined || runs(changeOwner, folder));
  if (!isDone) throw new Error(`${template} could not be copied`);
}

async function createDatabase(url: string): Promise<string> {
  const name = `test_${crypto.randomUUID().replaceAll('-', '')}`;
  await query(url, `CREATE DATABASE ${name}`);
  const fresh = new URL(url);
  fresh.pathname = `/${name}`;
  return fresh.href;
}

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  // A connection that breaks also emits an error event; without a listener that would end the process.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return (await client.query(text)).rows;
  } finally {
    await client.end().catch(() => undefined);
  }
}
