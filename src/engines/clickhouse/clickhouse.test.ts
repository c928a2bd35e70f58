import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { type ClickHouseEngine, startClickHouse } from '../../../test/kit/engines/clickhouse.ts';
import { describeWithEngine } from '../../../test/kit/engines/describe-with-engine.ts';
import { until } from '../../../test/kit/until.ts';
import { ManualClock, systemClock } from '../../base/clock.ts';
import { Problem } from '../../base/errors.ts';
import { parseAddress } from './address.ts';
import { ClickHouse, ClickHouseError, quoted, quotedList } from './clickhouse.ts';

/** What a promise was refused with. */
const refusal = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    error => error,
  );
const codeOf = (error: unknown): unknown => (error instanceof Problem ? error.code : error);

describe('a ClickHouse that misbehaves', () => {
  let answer: () => Response | Promise<Response> = () => new Response();
  const requests: { readonly url: string; readonly headers: Headers }[] = [];
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      requests.push({ url: request.url, headers: new Headers(request.headers) });
      return answer();
    },
  });
  afterAll(() => server.stop(true));
  afterEach(() => requests.splice(0));
  const address = parseAddress(`clickhouse://terse:secret@127.0.0.1:${server.port}/clicks`);
  const open = (options: object = {}) => new ClickHouse({ address, clock: systemClock, ...options });

  test('gets the credentials in headers and never in the address', async () => {
    answer = () => new Response('{"n":1}\n{"n":2}\n');
    expect(await open().rows<{ n: number }>('SELECT 1 AS n')).toEqual([{ n: 1 }, { n: 2 }]);
    expect(requests[0]!.headers.get('x-clickhouse-user')).toBe('terse');
    expect(requests[0]!.headers.get('x-clickhouse-key')).toBe('secret');
    expect(requests[0]!.url).not.toContain('secret');
  });

  test.each([
    [241, 'stats_unavailable'],
    [516, 'stats_unavailable'],
    [252, 'stats_unavailable'],
  ])('is not available for now when it says %p', async (code, problem) => {
    const headers = { 'X-ClickHouse-Exception-Code': String(code) };
    answer = () => new Response(`Code: ${code}. Trouble`, { status: 500, headers });
    expect(codeOf(await refusal(open().rows('SELECT 1')))).toBe(problem);
  });

  test('is not available when something else answers in its place', async () => {
    answer = () => new Response('Bad gateway', { status: 502 });
    expect(codeOf(await refusal(open().rows('SELECT 1')))).toBe('stats_unavailable');
    answer = () => new Response(null, { status: 302, headers: { Location: 'http://127.0.0.1:1/' } });
    expect(codeOf(await refusal(open().rows('SELECT 1')))).toBe('stats_unavailable');
  });

  test('that does not answer is given up at the deadline, also by requests that wait for a slot', async () => {
    answer = () => new Promise(() => {});
    const clock = new ManualClock();
    const clickHouse = open({ clock, readMaxMs: 1_000, underWayMax: 1 });
    const refusals = [refusal(clickHouse.rows('SELECT 1')), refusal(clickHouse.rows('SELECT 2'))];
    clock.advance(1_000);
    expect((await Promise.all(refusals)).map(codeOf)).toEqual(['stats_unavailable', 'stats_unavailable']);
    // The places are free again.
    answer = () => new Response('');
    expect(await clickHouse.rows('SELECT 3')).toEqual([]);
  });

  test('gets a bounded number of requests at once, and those beyond the queue are rejected', async () => {
    let underWay = 0;
    let most = 0;
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    answer = async () => {
      most = Math.max(most, ++underWay);
      await released;
      underWay -= 1;
      return new Response('');
    };
    const clickHouse = open({ underWayMax: 2, waitingMax: 3 });
    const asked = Array.from({ length: 5 }, () => clickHouse.rows('SELECT 1'));
    expect(codeOf(await refusal(clickHouse.rows('SELECT 1')))).toBe('overloaded');
    await until('both requests', () => underWay >= 2);
    release();
    await Promise.all(asked);
    expect(most).toBe(2);
  });
});

describeWithEngine(
  'clickhouse',
  'ClickHouse',
  () => {
    let engine: ClickHouseEngine;
    let clickHouse: ClickHouse;
    beforeAll(async () => {
      engine = await startClickHouse();
      clickHouse = new ClickHouse({ address: parseAddress(engine.freshDatabaseUrl()), clock: systemClock });
      await clickHouse.ensureDatabase();
      await clickHouse.ensureDatabase();
    });
    afterAll(() => engine.stop());

    test('reads every text as it was meant, whatever is in it', async () => {
      const odd = ['', "it's", '\\', "\\'; DROP TABLE x; --", '\n\n', '\0', '€ 𝄞', '{x:String}'];
      for (const text of odd) {
        expect(await clickHouse.rows<{ text: string }>(`SELECT ${quoted(text)} AS text`)).toEqual([{ text }]);
      }
      const [row] = await clickHouse.rows<{ all: number; none: number }>(
        `SELECT countIf(x IN ${quotedList(odd)}) AS all, countIf(x IN ${quotedList([])}) AS none
         FROM (SELECT arrayJoin([${odd.map(quoted).join(', ')}]) AS x)`,
      );
      expect(row).toEqual({ all: odd.length, none: 0 });
    });

    test('reports what is wrong with a query, by its number', async () => {
      const error = await refusal(clickHouse.rows('SELECT 1 FROM nowhere'));
      expect(error).toBeInstanceOf(ClickHouseError);
      expect((error as ClickHouseError).code).toBe(60);
      expect((await refusal(clickHouse.rows('SELECT'))) as ClickHouseError).toMatchObject({ code: 62 });
    });

    test('takes an insert with the same token once', async () => {
      await clickHouse.run(
        'CREATE TABLE once (n UInt8) ENGINE = MergeTree ORDER BY n SETTINGS non_replicated_deduplication_window = 5',
      );
      const insert = (token: string) =>
        clickHouse.insert({
          table: 'once',
          format: 'JSONEachRow',
          body: '{"n":1}',
          settings: { insert_deduplication_token: token },
        });
      for (const token of ['a', 'a', "b'", "b'", 'a']) await insert(token);
      expect(await clickHouse.rows<{ n: number }>('SELECT n FROM once')).toEqual([{ n: 1 }, { n: 1 }]);
    });

    test('that is down is not available, and available again when it is up', async () => {
      await engine.kill();
      expect(codeOf(await refusal(clickHouse.rows('SELECT 1')))).toBe('stats_unavailable');
      await engine.restart();
      expect(await clickHouse.rows<{ n: number }>('SELECT 1 AS n')).toEqual([{ n: 1 }]);
    });
  },
  { own: true },
);
