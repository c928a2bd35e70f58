import { expect, test } from 'bun:test';
import { Client } from 'pg';
import { sharedClickHouse } from '../../test/kit/engines/clickhouse.ts';
import { describeWithEngine } from '../../test/kit/engines/describe-with-engine.ts';
import { sharedDynamo } from '../../test/kit/engines/dynamodb.ts';
import { sharedPostgres } from '../../test/kit/engines/postgres.ts';
import { patientClock } from '../../test/kit/patient-clock.ts';
import { RequestError, type SetUpReport } from '../cli/command.ts';
import { setUp as setUpAll, setUpStore } from './setup.ts';

const setUp = async (links: string) =>
  (await Array.fromAsync(setUpStore({ links, data: './data' }, patientClock)))[0]!;
const embedded = {
  links: 'sqlite',
  data: './data',
  stats: 'sqlite',
  clickDays: 90,
  stream: 'embedded',
  clicks: true,
  writes: 'direct',
  archive: undefined,
} as const;
const setUpWith = (stats: string) => Array.fromAsync(setUpAll({ ...embedded, stats }));
const refusal = async (links: string): Promise<string> => {
  const error = await setUp(links).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(RequestError);
  return (error as Error).message;
};

test('a store that the server creates itself has all that it needs', async () => {
  expect(await setUp('sqlite')).toEqual({ store: 'the embedded store in ./data', done: [] });
  expect(await setUp('memory')).toEqual({ store: 'the store in memory', done: [] });
});

test('an engine that is down is one line, immediately and without a secret', async () => {
  const dynamo = await refusal('dynamodb://terse?endpoint=http://127.0.0.1:1');
  expect(dynamo).toStartWith('the DynamoDB table terse at http://127.0.0.1:1 cannot be used: ');
  const postgres = await refusal('postgres://terse:hunter2@127.0.0.1:1/terse');
  expect(postgres).toStartWith('Postgres at 127.0.0.1:1/terse cannot be used: ');
  expect(dynamo + postgres).not.toMatch(/hunter2|\n/);
});

test('an invalid address is one line', async () => {
  expect(await refusal('dynamodb://terse?table=other')).toContain('has only a region and an endpoint');
});

test('a ClickHouse that is down is one line, after what was done before it', async () => {
  const reported: string[] = [];
  const work = (async () => {
    const stats = 'clickhouse://terse:hunter2@127.0.0.1:1/terse';
    for await (const { store } of setUpAll({ ...embedded, stats })) reported.push(store);
  })();
  const error = await work.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(RequestError);
  expect((error as Error).message).toStartWith('ClickHouse at 127.0.0.1:1/terse cannot be used: ');
  expect((error as Error).message).not.toMatch(/hunter2|\n/);
  expect(reported).toEqual(['the embedded store in ./data']);
});

describeWithEngine('clickhouse', 'setting ClickHouse up', () => {
  test('makes the tables, says so, and finds nothing to do the next time', async () => {
    const url = (await sharedClickHouse()).freshDatabaseUrl();
    const [, made] = await setUpWith(url);
    expect(made?.store).toStartWith('ClickHouse at ');
    expect(made?.done).toEqual([expect.stringMatching(/^brought the tables of warehouse to version \d+$/)]);
    expect(await setUpWith(url)).toEqual([expect.anything(), { store: made!.store, done: [] }]);
  });
});

describeWithEngine('dynamodb', 'setting DynamoDB up', () => {
  test('makes the table, says so, and finds nothing to do the next time', async () => {
    const url = (await sharedDynamo()).freshTableUrl();
    const { store, done } = await setUp(url);
    expect(store).toStartWith('the DynamoDB table test_');
    expect(done).toEqual([
      expect.stringMatching(/^made the table test_.* with \d+ indexes$/),
      'turned expiry on, by the attribute ttl',
    ]);
    expect(await setUp(url)).toEqual({ store, done: [] });
  });
});

/** The lines about these components; fields that were added to links later have a line of their own. */
const made = (...components: readonly string[]): string[] =>
  components.flatMap(component => [
    `brought the tables of ${component} to version N`,
    ...(component === 'links' ? ['added the column stats_tokens_from to the tables of links'] : []),
  ]);

describeWithEngine('postgres', 'setting Postgres up', () => {
  test('makes the tables, says so, and finds nothing to do the next time', async () => {
    const url = await (await sharedPostgres()).freshDatabase();
    const { store, done } = await setUp(url);
    expect(done.map(line => line.replace(/\d+$/, 'N'))).toEqual(made('links', 'records', 'earlier versions'));
    expect(await setUp(url)).toEqual({ store, done: [] });
  });

  test('reports what was made before a step failed', async () => {
    const url = await (await sharedPostgres()).freshDatabase();
    const client = new Client(url);
    await client.connect();
    // Blocks the last component but one.
    await client.query('CREATE TABLE record_places (other TEXT)');
    await client.end();
    const reports: SetUpReport[] = [];
    const work = (async () => {
      for await (const report of setUpStore({ links: url, data: './data' })) reports.push(report);
    })();
    await expect(work).rejects.toThrow('record_places');
    expect(reports).toHaveLength(1);
    expect(reports[0]).toMatchObject({ isIncomplete: true });
    expect(reports[0]?.done.map(line => line.replace(/\d+$/, 'N'))).toEqual(made('links'));
  });
});
