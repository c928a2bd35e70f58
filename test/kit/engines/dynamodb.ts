/**
 * DynamoDB for tests: Amazon's own DynamoDB Local. One that a whole test process shares, with a table name per caller,
 * and exclusive ones that a test can pause and kill.
 */

import { systemClock } from '../../../src/base/clock.ts';
import { parseAddress } from '../../../src/engines/dynamodb/address.ts';
import { createClient } from '../../../src/engines/dynamodb/transport.ts';
import { findDynamo } from './dynamodb-programs.ts';
import { type Engine, EngineProcess, startEngine } from './engine-process.ts';
import { thingOf } from './found.ts';
import { type Revivable, shareEngine } from './shared-engine.ts';

export interface SharedDynamo extends Revivable {
  /** The address of a table that does not exist yet. */
  freshTableUrl(): string;
}

export interface DynamoEngine extends Engine, SharedDynamo {
  /** Such as `http://127.0.0.1:8000`. */
  readonly endpoint: string;
}

export interface DynamoOptions {
  /** Faster, but a restart loses the data. */
  readonly inMemory?: boolean;
}

const dropMaxMs = 30_000;

/** One per test process, or what TERSE_TEST_DYNAMODB names (`http://host:port`). No test may pause or stop it. */
export const sharedDynamo = shareEngine(async (): Promise<SharedDynamo> => {
  const given = process.env.TERSE_TEST_DYNAMODB;
  if (given === undefined) return startDynamo({ inMemory: true });
  return {
    freshTableUrl() {
      const url = tableUrl(given);
      tablesGiven.add(url);
      return url;
    },
  };
});

/** Tables in a shared engine, which becomes slower with every table. */
const tablesGiven = new Set<string>();

/** Drops the tables that were named for this process, some of which may never have been created. */
export async function dropGivenTables(): Promise<void> {
  for (const url of tablesGiven) {
    const address = parseAddress(url);
    const client = createClient(address, { clock: systemClock, hasCredentials: false });
    const dropped = client.send('DeleteTable', { TableName: address.table }, AbortSignal.timeout(dropMaxMs));
    await dropped.catch(() => undefined);
  }
  tablesGiven.clear();
}

/** An exclusive one, which the caller stops. */
export function startDynamo(options: DynamoOptions = {}): Promise<DynamoEngine> {
  return startEngine('dynamodb', (folder, port) => new DynamoProcess(folder, port, options));
}

class DynamoProcess extends EngineProcess implements DynamoEngine {
  readonly endpoint: string;

  constructor(folder: string, port: number, { inMemory = false }: DynamoOptions) {
    const endpoint = `http://127.0.0.1:${port}`;
    const { command } = thingOf(findDynamo());
    const storage = inMemory ? ['-inMemory'] : ['-dbPath', folder];
    super(folder, {
      name: 'DynamoDB Local',
      command: [...command, '-port', String(port), '-sharedDb', ...storage],
      stopSignal: 'SIGTERM',
      // DynamoDB rejects an unsigned request with an error that names it.
      isReady: async () => (await (await fetch(endpoint)).text()).includes('dynamodb'),
    });
    this.endpoint = endpoint;
  }

  freshTableUrl(): string {
    return tableUrl(this.endpoint);
  }
}

function tableUrl(endpoint: string): string {
  return `dynamodb://test_${crypto.randomUUID()}?region=eu-west-1&endpoint=${endpoint}`;
}
