import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type ClickHouseEngine, startClickHouse } from './clickhouse.ts';
import { describeWithEngine } from './describe-with-engine.ts';

describeWithEngine(
  'clickhouse',
  'a ClickHouse of its own',
  () => {
    let engine: ClickHouseEngine;
    beforeAll(async () => {
      engine = await startClickHouse();
    });
    afterAll(() => engine.stop());

    const ask = (query: string, parameters: Record<string, string> = {}, body: string | Uint8Array = '') => {
      const search = new URLSearchParams({ ...parameters, query });
      return fetch(`${engine.endpoint}/?${search}`, { method: 'POST', body });
    };
    const said = async (query: string, parameters?: Record<string, string>): Promise<string> =>
      (await (await ask(query, parameters)).text()).trim();

    test('names a new database at every request', () => {
      const [one, other] = [new URL(engine.freshDatabaseUrl()), new URL(engine.freshDatabaseUrl())];
      expect(one.pathname).not.toBe(other.pathname);
      expect(`http://${one.host}`).toBe(engine.endpoint);
    });

    test('takes a query in the body, rows in text and in bytes, and settings in the address', async () => {
      await ask(
        'CREATE TABLE kept (n UInt32) ENGINE = MergeTree ORDER BY n SETTINGS non_replicated_deduplication_window = 10',
      );
      await ask('INSERT INTO kept FORMAT JSONEachRow', {}, '{"n":1}\n{"n":2}');
      const token = { insert_deduplication_token: "it's one" };
      // Two line feeds, as text would end with.
      const row = new Uint8Array(Uint32Array.of(0x0a0a).buffer);
      await ask('INSERT INTO kept FORMAT RowBinary', token, row);
      await ask('INSERT INTO kept FORMAT RowBinary', token, row);
      const answer = await fetch(`${engine.endpoint}/?default_format=JSON`, {
        method: 'POST',
        body: 'SELECT n FROM kept ORDER BY n',
      });
      expect(((await answer.json()) as { data: unknown }).data).toEqual([{ n: 1 }, { n: 2 }, { n: 0x0a0a }]);
    });

    test('keeps databases apart', async () => {
      await ask('CREATE DATABASE other');
      expect(await said('SELECT currentDatabase()', { database: 'other' })).toBe('other');
      expect(await said('SELECT currentDatabase()')).toBe('default');
    });

    test.each([
      ['SELECT 1 FROM nowhere', 404, '60'],
      ['SELEC 1', 400, '62'],
      ['SELECT throwIf(1)', 500, '395'],
    ])('says what is wrong with %s, and its number', async (query, status, code) => {
      const answer = await ask(query);
      expect(answer.status).toBe(status);
      expect(answer.headers.get('x-clickhouse-exception-code')).toBe(code);
      expect(await answer.text()).toContain(`Code: ${code}`);
    });

    test('keeps at the same address what it acknowledged when it is killed', async () => {
      await engine.kill();
      expect(ask('SELECT 1')).rejects.toThrow();
      await engine.restart();
      expect(await said('SELECT sum(n) FROM kept')).toBe(String(3 + 0x0a0a));
    });

    test('answers nothing while it is paused and continues afterwards', async () => {
      engine.pause();
      let isAnswered = false;
      const answer = said('SELECT 7').finally(() => {
        isAnswered = true;
      });
      await Bun.sleep(300);
      expect(isAnswered).toBe(false);
      engine.resume();
      expect(await answer).toBe('7');
    });
  },
  { own: true },
);
