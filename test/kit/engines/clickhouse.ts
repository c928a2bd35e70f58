/**
 * Real ClickHouse for tests: one that a whole test process shares, with a database per caller, and exclusive ones that
 * a test can pause and kill.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ClickHouseProgram, findClickHouse } from './clickhouse-programs.ts';
import { type Engine, EngineProcess, type FolderOptions, startEngine } from './engine-process.ts';
import { thingOf } from './found.ts';
import { type Revivable, shareEngine } from './shared-engine.ts';

export interface SharedClickHouse extends Revivable {
  /** The address of a database that does not exist yet. */
  freshDatabaseUrl(): string;
}

export interface ClickHouseEngine extends Engine, SharedClickHouse {
  /** Such as `http://127.0.0.1:8123`. */
  readonly endpoint: string;
  /** Where its files are. */
  readonly folder: string;
}

/** One per test process, or what TERSE_TEST_CLICKHOUSE names. No test may pause or stop it. */
export const sharedClickHouse = shareEngine(async (): Promise<SharedClickHouse> => {
  const given = process.env.TERSE_TEST_CLICKHOUSE;
  return given === undefined
    ? startClickHouse({ inMemory: true })
    : { freshDatabaseUrl: () => databaseUrl(given) };
});

/** An exclusive one, which the caller stops. */
export function startClickHouse(options?: FolderOptions): Promise<ClickHouseEngine> {
  const program = thingOf(findClickHouse());
  return startEngine('clickhouse', (folder, port) => new ClickHouseProcess(folder, port, program), options);
}

class ClickHouseProcess extends EngineProcess implements ClickHouseEngine {
  readonly endpoint: string;
  readonly folder: string;

  constructor(folder: string, port: number, program: ClickHouseProgram) {
    const endpoint = `http://127.0.0.1:${port}`;
    const data = join(folder, 'data');
    mkdirSync(data, { recursive: true });
    super(folder, {
      name: 'ClickHouse',
      command: commandOf(program, folder, data, port),
      stopSignal: 'SIGTERM',
      isReady: async () => {
        const asked = encodeURIComponent("SELECT path FROM system.disks WHERE name = 'default'");
        return (await (await fetch(`${endpoint}/?query=${asked}`)).text()).startsWith(data);
      },
    });
    this.endpoint = endpoint;
    this.folder = data;
  }

  freshDatabaseUrl(): string {
    return databaseUrl(`clickhouse://${new URL(this.endpoint).host}`);
  }
}

function commandOf(program: ClickHouseProgram, folder: string, data: string, port: number): string[] {
  if (program.kind === 'library') {
    return [
      process.execPath,
      join(import.meta.dir, 'clickhouse-front.ts'),
      String(port),
      data,
      program.addon,
    ];
  }
  const config = join(folder, 'config.xml');
  writeFileSync(config, configOf(data, port));
  return [...program.command, `--config-file=${config}`];
}

/** The minimal configuration of a server, on loopback only. */
function configOf(data: string, port: number): string {
  return `<clickhouse>
    <logger><level>warning</level><console>1</console></logger>
    <listen_host>127.0.0.1</listen_host>
    <http_port>${port}</http_port>
    <path>${data}/</path>
    <users><default>
      <password></password><networks><ip>127.0.0.1</ip></networks>
      <profile>default</profile><quota>default</quota><access_management>1</access_management>
    </default></users>
    <profiles><default></default></profiles>
    <quotas><default></default></quotas>
  </clickhouse>`;
}

function databaseUrl(url: string): string {
  const fresh = new URL(url);
  fresh.pathname = `/test_${crypto.randomUUID().replaceAll('-', '')}`;
  return fresh.href;
}
