/**
 * The purges that a complete Terse sends to a cache in front: by which processes, for which links, and in which metrics.
 */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { type Clock, ManualClock } from '../../src/base/clock.ts';
import { FakeEdge } from '../../src/edge/fake-edge.ts';
import { callerOf } from '../kit/client.ts';
import { startTerseHere, type TerseHere } from '../kit/terse-here.ts';
import { until } from '../kit/until.ts';

const token = 'token-of-the-operator';
let edge: FakeEdge;
let terse: TerseHere | undefined;
beforeEach(() => {
  edge = new FakeEdge();
});
afterEach(async () => {
  await terse?.stop();
  terse = undefined;
  await edge.stop();
});

async function start(env: Record<string, string> = {}, clock?: Clock): Promise<TerseHere> {
  terse = await startTerseHere({
    ...(clock !== undefined && { clock }),
    env: { TERSE_EDGE_PURGE: edge.url, TERSE_EDGE_PURGE_TOKEN: token, TERSE_EDGE_TTL_S: '60', ...env },
  });
  return terse;
}
const purged = (): string[] => edge.seen.map(({ headers }) => headers.get('surrogate-key') ?? '');
const metricsOf = async ({ url }: TerseHere): Promise<string> => (await fetch(`${url}/metrics`)).text();

/** Advances the clock in small steps until a counter is reached, because every purge is repeated after some seconds. */
async function untilCounted(
  running: TerseHere,
  clock: ManualClock,
  metric: string,
  value: number,
): Promise<void> {
  const line = `${metric}{edge="${new URL(edge.url).host}"} ${value}\n`;
  await until(line, async () => {
    clock.advance(5);
    return (await metricsOf(running)).includes(line);
  });
}

test('a cache is purged completely when Terse first uses it, then for each changed link, and for no new one', async () => {
  const clock = new ManualClock(Date.now());
  const running = await start({}, clock);
  const call = callerOf(running.url);
  await untilCounted(running, clock, 'terse_edge_emptied_total', 1);
  for (const customAlias of ['spring', 'unchanged']) {
    const body = { longUrl: 'https://example.com/', customAlias };
    expect((await call('POST', '/api/v1/links', { body })).status).toBe(201);
  }
  expect((await call('PATCH', '/api/v1/links/spring', { body: { title: 'Spring' } })).status).toBe(200);
  await untilCounted(running, clock, 'terse_edge_purged_total', 1);
  expect(purged()).toEqual(['*', 'spring']);
  const metrics = await metricsOf(running);
  const name = new URL(edge.url).host;
  expect(metrics).toContain(`terse_edge_emptied_total{edge="${name}"} 1\n`);
  expect(metrics).toContain(`terse_edge_purge_lag_seconds{edge="${name}"} 0\n`);
});

test('links to a newly blocked destination are purged from the cache', async () => {
  const clock = new ManualClock(Date.now());
  const running = await start({}, clock);
  await untilCounted(running, clock, 'terse_edge_emptied_total', 1);
  const entry = { entry: 'evil.example', reason: 'It has to stop.' };
  expect((await callerOf(running.url)('POST', '/api/v1/blocklist', { body: entry })).status).toBe(201);
  await untilCounted(running, clock, 'terse_edge_emptied_total', 2);
  expect(purged()).toEqual(['*', '*']);
});

test('a cache that rejects purges is reported in metrics and log, without the token', async () => {
  edge.answer = () => new Response(token, { status: 403 });
  const running = await start();
  await until('refusals', async () => purged().length > 2);
  const metrics = await metricsOf(running);
  expect(Number(/^terse_edge_purge_failures_total\S+ (\d+)$/m.exec(metrics)?.[1])).toBeGreaterThan(1);
  expect(Number(/^terse_edge_purge_lag_seconds\S+ ([\d.]+)$/m.exec(metrics)?.[1])).toBeGreaterThan(0);
  expect(running.logged()).toContain('changes cannot be purged from the edge');
  expect(running.logged()).toContain('the edge answered a purge with 403');
  expect(running.logged()).not.toContain(token);
});

test('a process that only redirects sends no purges', async () => {
  const running = await start({ TERSE_ROLES: 'redirect,api' });
  const call = callerOf(running.url);
  const body = { longUrl: 'https://example.com/', customAlias: 'spring' };
  await call('POST', '/api/v1/links', { body });
  await call('DELETE', '/api/v1/links/spring');
  await Bun.sleep(300);
  expect(purged()).toEqual([]);
  expect(await metricsOf(running)).not.toContain('terse_edge');
});
