/**
 * `terse setup`: makes what the engines of the settings lack, and says what that was. A server does the same when it
 * starts, but may not be allowed to; with this an operator does it once, and the server needs no such permission. It is
 * tried once: whoever runs a command wants to know at once what is wrong.
 */
import { systemClock } from '../base/clock.ts';
import { systemRandom } from '../base/random.ts';
import { RequestError } from '../cli/command.ts';
import type { SetUpReport } from '../cli/local-work.ts';
import { awaitStore } from './await-store.ts';
import { type Config, hasAwsCredentials } from './config.ts';

const options = { clock: systemClock, random: systemRandom };

type StatsConfig = Pick<Config, 'stats' | 'clickDays'>;

/** An engine that has come as far as its address. */
interface OpenedStore {
  readonly name: string;
  makeAll(): Promise<string[]>;
  close(): Promise<void> | void;
}

/** One after the other, so that what was made is told even when the next one is away. */
export async function* setUp(
  config: Pick<Config, 'links' | 'data'> & StatsConfig,
): AsyncGenerator<SetUpReport> {
  yield await setUpStore(config);
  if (config.stats !== 'sqlite') yield await madeAllOf(() => openStats(config));
}

export async function setUpStore({ links, data }: Pick<Config, 'links' | 'data'>): Promise<SetUpReport> {
  if (links === 'memory') return { store: 'the store in memory', done: [] };
  // An embedded database is one file, which whoever starts the server is allowed to make.
  if (links === 'sqlite') return { store: `the embedded store in ${data}`, done: [] };
  return madeAllOf(() => openStore(links));
}

async function madeAllOf(open: () => Promise<OpenedStore>): Promise<SetUpReport> {
  try {
    const store = await open();
    try {
      const done = await awaitStore(() => store.makeAll(), { ...options, name: store.name, waitMaxMs: 0 });
      return { store: store.name, done };
    } finally {
      await store.close();
    }
  } catch (error) {
    const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    throw new RequestError(line);
  }
}

async function openStore(url: string): Promise<OpenedStore> {
  if (url.startsWith('dynamodb:')) {
    const { dynamoName } = await import('./dynamodb.ts');
    const { openDynamo } = await import('../engines/dynamodb/dynamodb.ts');
    const dynamo = openDynamo(url, { ...options, hasCredentials: hasAwsCredentials() });
    return { name: dynamoName(url), makeAll: () => dynamo.ensureTable(), close: () => dynamo.close() };
  }
  const { postgresMigrations } = await import('./postgres.ts');
  const { openPostgres } = await import('../engines/postgres/postgres.ts');
  const { runMigrations } = await import('../engines/postgres/migrations.ts');
  const postgres = openPostgres(url, options);
  return {
    name: `Postgres at ${postgres.place}`,
    makeAll: () => runMigrations(postgres, postgresMigrations),
    close: () => postgres.close(),
  };
}

async function openStats({ stats, clickDays }: StatsConfig): Promise<OpenedStore> {
  const { parseAddress } = await import('../engines/clickhouse/address.ts');
  const { ClickHouse } = await import('../engines/clickhouse/clickhouse.ts');
  const { runMigrations } = await import('../engines/clickhouse/migrations.ts');
  const { warehouseMigrations } = await import('../clicks/warehouses/clickhouse/schema.ts');
  const { createClickHouseWarehouse } = await import('../clicks/warehouses/clickhouse/warehouse.ts');
  const address = parseAddress(stats);
  const clickHouse = new ClickHouse({ address, clock: systemClock });
  return {
    name: `ClickHouse at ${address.place}`,
    async makeAll() {
      const done = await runMigrations(clickHouse, warehouseMigrations);
      // How long single clicks are kept is part of their table.
      await createClickHouseWarehouse({ clickHouse, clock: systemClock, clickDays }).ready();
      return done;
    },
    close() {
      // Nothing is kept open.
    },
  };
}
