/**
 * `terse setup`: makes what the store of the settings lacks, and says what that was. A server does the same when it
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

/** A store that has come as far as its address. */
interface OpenedStore {
  readonly name: string;
  makeAll(): Promise<string[]>;
  close(): Promise<void> | void;
}

export async function setUpStore({ links, data }: Pick<Config, 'links' | 'data'>): Promise<SetUpReport> {
  if (links === 'memory') return { store: 'the store in memory', done: [] };
  // An embedded database is one file, which whoever starts the server is allowed to make.
  if (links === 'sqlite') return { store: `the embedded store in ${data}`, done: [] };
  try {
    const store = await openStore(links);
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
