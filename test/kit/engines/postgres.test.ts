import { afterAll, beforeAll, expect, test } from 'bun:test';
import { Client } from 'pg';
import { until } from '../until.ts';
import { describeWithEngine } from './describe-with-engine.ts';
import { type PostgresEngine, sharedPostgres, startPostgres } from './postgres.ts';

const followsMaxMs = 30_000;

async function rows(url: string, text: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return (await client.query(text)).rows;
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function untilRows(url: string, text: string, expected: unknown[]): Promise<void> {
  const isThere = async () => Bun.deepEquals(await rows(url, text).catch(() => []), expected);
  await until(`${text} to give ${JSON.stringify(expected)}`, isThere, { maxMs: followsMaxMs });
}

describeWithEngine('postgres', 'the shared Postgres', () => {
  test('gives each caller its own database', async () => {
    const shared = await sharedPostgres();
    const [one, other] = [await shared.freshDatabase(), await shared.freshDatabase()];
    await rows(one, 'CREATE TABLE mine (n int)');
    expect(await rows(other, "SELECT 1 FROM pg_tables WHERE tablename = 'mine'")).toEqual([]);
  });
});

describeWithEngine(
  'postgres',
  'a Postgres of its own',
  () => {
    let engine: PostgresEngine;
    beforeAll(async () => {
      engine = await startPostgres({ replica: true, settings: { max_connections: '20' } });
      await rows(engine.url, 'CREATE TABLE kept (n int)');
    });
    afterAll(() => engine.stop());

    test('uses the given settings', async () => {
      expect(await rows(engine.url, 'SHOW max_connections')).toEqual([{ max_connections: '20' }]);
    });

    test('keeps at the same address what it committed when it is killed', async () => {
      await rows(engine.url, 'INSERT INTO kept VALUES (1)');
      await engine.kill();
      expect(engine.pid).toBeUndefined();
      expect(rows(engine.url, 'SELECT 1')).rejects.toThrow();
      await engine.restart();
      expect(await rows(engine.url, 'SELECT n FROM kept')).toEqual([{ n: 1 }]);
    });

    test('answers nothing while it is paused, not even on old connections, and continues afterwards', async () => {
      const client = new Client({ connectionString: engine.url });
      await client.connect();
      engine.pause();
      let isAnswered = false;
      const answer = client.query('SELECT 2 AS n').then(({ rows: [row] }) => {
        isAnswered = true;
        return row;
      });
      await Bun.sleep(300);
      expect(isAnswered).toBe(false);
      engine.resume();
      expect(await answer).toEqual({ n: 2 });
      await client.end();
    });

    test('has a replica that follows, and still does after either was down', async () => {
      const replica = engine.replica!;
      await untilRows(replica.url, 'SELECT n FROM kept', [{ n: 1 }]);
      expect(rows(replica.url, 'INSERT INTO kept VALUES (9)')).rejects.toThrow('read-only');
      await replica.kill();
      await engine.restart();
      await rows(engine.url, 'INSERT INTO kept VALUES (2)');
      await replica.restart();
      await untilRows(replica.url, 'SELECT n FROM kept ORDER BY n', [{ n: 1 }, { n: 2 }]);
    });
  },
  { own: true },
);
