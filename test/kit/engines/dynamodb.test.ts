import { afterAll, beforeAll, expect, test } from 'bun:test';
import { CreateTableCommand, DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { describeWithEngine } from './describe-with-engine.ts';
import { type DynamoEngine, startDynamo } from './dynamodb.ts';

describeWithEngine(
  'dynamodb',
  'a DynamoDB of its own',
  () => {
    let engine: DynamoEngine;
    let client: DynamoDBClient;
    beforeAll(async () => {
      engine = await startDynamo();
      const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
      client = new DynamoDBClient({
        endpoint: engine.endpoint,
        region: 'eu-west-1',
        credentials,
        maxAttempts: 1,
      });
    });
    afterAll(async () => {
      client.destroy();
      await engine.stop();
    });
    const tables = async () => (await client.send(new ListTablesCommand())).TableNames;

    test('names a new table at every request', () => {
      const [one, other] = [new URL(engine.freshTableUrl()), new URL(engine.freshTableUrl())];
      expect(one.hostname).not.toBe(other.hostname);
      expect(one.searchParams.get('endpoint')).toBe(engine.endpoint);
    });

    test('keeps at the same address what it acknowledged when it is killed', async () => {
      await client.send(
        new CreateTableCommand({
          TableName: 'kept',
          BillingMode: 'PAY_PER_REQUEST',
          KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
          AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
        }),
      );
      await engine.kill();
      expect(tables()).rejects.toThrow();
      await engine.restart();
      expect(await tables()).toEqual(['kept']);
    });

    test('answers nothing while it is paused and continues afterwards', async () => {
      engine.pause();
      let isAnswered = false;
      const answer = tables().finally(() => {
        isAnswered = true;
      });
      await Bun.sleep(300);
      expect(isAnswered).toBe(false);
      engine.resume();
      expect(await answer).toEqual(['kept']);
    });
  },
  { own: true },
);
