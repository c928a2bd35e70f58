import { afterAll, beforeAll, expect, test } from 'bun:test';
import { patientCalls } from '../../../test/kit/dynamo-links.ts';
import { startDynamoProxy } from '../../../test/kit/dynamo-proxy.ts';
import { makeTable } from '../../../test/kit/dynamo-table.ts';
import { describeWithEngine } from '../../../test/kit/engines/describe-with-engine.ts';
import { type DynamoEngine, startDynamo } from '../../../test/kit/engines/dynamodb.ts';
import { systemClock } from '../../base/clock.ts';
import { systemRandom } from '../../base/random.ts';
import { type Dynamo, openDynamo } from './dynamodb.ts';
import { indexNames } from './queries.ts';

const open = (url: string): Dynamo =>
  openDynamo(url, { clock: systemClock, random: systemRandom, ...patientCalls });

describeWithEngine(
  'dynamodb',
  'the table in DynamoDB',
  () => {
    // Its own, because one with the tables of many other tests takes long to make an index.
    let engine: DynamoEngine;
    beforeAll(async () => {
      engine = await startDynamo({ inMemory: true });
    });
    afterAll(() => engine?.stop());
    const freshUrl = async (): Promise<string> => engine.freshTableUrl();

    test('is made once, with its indexes and expiry, however many ask for it at once', async () => {
      const url = await freshUrl();
      const openers = Array.from({ length: 4 }, () => open(url));
      const done = await Promise.all(openers.map(dynamo => dynamo.ensureTable()));
      expect(done.flat().filter(line => line.startsWith('made the table'))).toHaveLength(1);
      expect(await open(url).ensureTable()).toEqual([]);
      for (const index of indexNames) expect((await openers[0]!.query({ pk: 'x', index })).items).toEqual([]);
      await expect(openers[0]!.query({ pk: 'x', index: 'audit-by-day' })).rejects.toThrow();
      for (const dynamo of openers) dynamo.close();
    });

    test('is asked for once where nothing is missing', async () => {
      const url = await freshUrl();
      const proxy = startDynamoProxy(url);
      await open(url).ensureTable();
      const dynamo = open(proxy.url);
      expect(await dynamo.ensureTable()).toEqual([]);
      expect(proxy.calls('DescribeTable')).toBe(1);
      dynamo.close();
      await proxy.stop();
    });

    test('is given the indexes that it lacks, and says so', async () => {
      const url = await freshUrl();
      await makeTable(url, ['pk', 'sk']);
      const dynamo = open(url);
      const done = await dynamo.ensureTable();
      expect(done).toEqual([
        ...indexNames.map(name => `made the index ${name}`),
        'turned expiry on, by the attribute ttl',
      ]);
      expect(await dynamo.ensureTable()).toEqual([]);
      dynamo.close();
    });

    test('that Terse did not make is left alone', async () => {
      const url = await freshUrl();
      await makeTable(url, ['customer', 'order']);
      const dynamo = open(url);
      await expect(dynamo.ensureTable()).rejects.toThrow('it is not one of Terse');
      dynamo.close();
    });
  },
  { own: true },
);
