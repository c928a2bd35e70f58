/** Requests in the log, how a caller and an operator find the same one, and how to log more. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { callerOf } from '../kit/client.ts';
import { startTerseHere } from '../kit/terse-here.ts';
import { startTerseProcess, temporaryFolder } from '../kit/terse-process.ts';
import { until } from '../kit/until.ts';

setDefaultTimeout(60_000);

interface Line {
  readonly event: string;
  readonly [field: string]: unknown;
}

const linesOf = (text: string): Line[] =>
  text
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line));

describe('the log of requests', async () => {
  const terse = await startTerseHere({ env: { TERSE_LOG_REDIRECTS: '5' } });
  afterAll(() => terse.stop());
  const call = callerOf(terse.url);
  const lines = (event: string): Line[] => linesOf(terse.logged()).filter(line => line.event === event);
  const lineOf = (requestId: string): Line | undefined =>
    lines('request').find(line => line.requestId === requestId);

  test('has each request of the API under an id that is in its answer too', async () => {
    const { headers } = await call('GET', '/api/v1/links');
    const id = headers.get('x-request-id')!;
    expect(id).toMatch(/^[0-9a-f]{24}$/);
    expect(lineOf(id)).toMatchObject({
      method: 'GET',
      route: 'listLinks',
      status: 200,
      tookMs: expect.any(Number),
    });
  });

  test('keeps the id that a caller sends, also in a rejection, and replaces an invalid one', async () => {
    const sent = await call('GET', '/api/v1/links/none', { headers: { 'X-Request-Id': 'from-the-proxy.1' } });
    expect([sent.status, sent.headers.get('x-request-id')]).toEqual([404, 'from-the-proxy.1']);
    expect(lineOf('from-the-proxy.1')).toMatchObject({ status: 404 });
    const odd = await call('GET', '/api/v1/links', { headers: { 'X-Request-Id': '"},{"level":"error"' } });
    expect(odd.headers.get('x-request-id')).toMatch(/^[0-9a-f]{24}$/);
  });

  test('names the trace of a request, unless the trace is invalid', async () => {
    const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
    const traceparent = `00-${traceId}-00f067aa0ba902b7-01`;
    const { headers } = await call('GET', '/api/v1/links', { headers: { traceparent } });
    expect(lineOf(headers.get('x-request-id')!)).toMatchObject({ traceId });
    const broken = await call('GET', '/api/v1/links', { headers: { traceparent: 'x' } });
    expect(lineOf(broken.headers.get('x-request-id')!)).not.toHaveProperty('traceId');
  });

  test('has one redirect in N, as the setting says, and nothing about the visitor', async () => {
    const { body } = await call('POST', '/api/v1/links', { body: { longUrl: 'https://example.com/' } });
    const before = lines('redirect').length;
    for (let n = 0; n < 10; n += 1) await call('GET', `/${body.shortCode}?secret=1`, { key: undefined });
    const logged = lines('redirect').slice(before);
    expect(logged).toHaveLength(2);
    expect(logged[0]).toMatchObject({ path: `/${body.shortCode}`, status: 302, oneIn: 5 });
    expect(terse.logged()).not.toContain('127.0.0.1');
    expect(terse.logged()).not.toContain('secret=1');
  });
});

test.each([1, 2])(
  'SIGUSR2 makes a server with %d workers log everything, and the next one nothing more',
  async workers => {
    const folder = temporaryFolder();
    const file = join(folder, 'stderr');
    const terse = await startTerseProcess({
      dataFolder: join(folder, 'data'),
      env: { TERSE_WORKERS: String(workers), TERSE_LOG_LEVEL: 'silent' },
      stderr: Bun.file(file),
    });
    try {
      /** Each request has its own connection, so that every worker gets some. */
      const ask = () => fetch(`${terse.url}/health/live`, { headers: { Connection: 'close' } });
      const logged = async (): Promise<Line[]> => linesOf(await Bun.file(file).text());
      const workersReporting = async (): Promise<number> =>
        new Set((await logged()).flatMap(({ event, worker = 0 }) => (event === 'request' ? [worker] : [])))
          .size;
      await ask();
      expect(await logged()).toEqual([]);
      process.kill(terse.pid, 'SIGUSR2');
      await until('a line of every worker', async () => {
        await ask();
        return (await workersReporting()) === workers;
      });
      process.kill(terse.pid, 'SIGUSR2');
      await until('silence', async () => {
        const before = (await logged()).length;
        for (let n = 0; n < 10; n += 1) await ask();
        // Longer than lines are gathered before they are written.
        await Bun.sleep(200);
        return (await logged()).length === before;
      });
    } finally {
      await terse.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
