/** wrk against a small server: it must count what the server counted, and notice what went wrong. */
import { afterAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getRequest, loadRunner, postRequest } from './load.ts';
import { findWrk } from './wrk.ts';

const folder = mkdtempSync(join(tmpdir(), 'terse-bench-'));
const seen = new Map<string, number>();
const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    const { pathname } = new URL(request.url);
    seen.set(pathname, (seen.get(pathname) ?? 0) + 1);
    if (pathname === '/refused') return new Response('no', { status: 503 });
    if (pathname === '/missing') return new Response('no', { status: 404 });
    if (pathname === '/large') return new Response('x'.repeat(300_000));
    if (pathname === '/echo') return new Response(await request.text());
    return new Response(null, { status: 302, headers: { Location: 'https://example.com/' } });
  },
});
const url = `http://127.0.0.1:${server.port}`;

afterAll(async () => {
  await server.stop(true);
  rmSync(folder, { recursive: true });
});

const wrk = await findWrk(join(import.meta.dir, '../../.cache/bench'));

describe.skipIf(wrk === undefined)('a closed loop', () => {
  const run = loadRunner(wrk!, folder);
  const plan = { url, connections: 4, durationS: 1 };

  test('sends the requests in turn and counts the answers', async () => {
    seen.clear();
    const result = await run({ ...plan, requests: [getRequest('/a'), getRequest('/b')] });
    const served = seen.get('/a')! + seen.get('/b')!;
    expect(result.requests).toBeGreaterThan(0);
    // The last request of each connection may be in flight when the time is up.
    expect(served - result.requests).toBeWithin(0, plan.connections + 1);
    expect(Math.abs(seen.get('/a')! - seen.get('/b')!)).toBeLessThanOrEqual(plan.connections);
    expect(result.p50Ms).toBeLessThanOrEqual(result.p99Ms);
    expect(result.p999Ms).toBeLessThanOrEqual(result.maxMs);
    expect(readdirSync(folder)).toEqual([]);
  });

  test.each([
    ['reads answers', getRequest('/large')],
    ['writes bodies', postRequest('/echo', 'y'.repeat(8_000_000))],
  ])('%s larger than what a socket holds', async (_what, request) => {
    seen.clear();
    const result = await run({ ...plan, requests: [request], durationS: 1 });
    const [served] = seen.values();
    expect(served! - result.requests).toBeWithin(0, plan.connections + 1);
  });

  test('does not take refusals for figures', async () => {
    const refused = run({ ...plan, requests: [getRequest('/refused')] });
    expect(await refused.catch(String)).toMatch(/requests to .* failed/);
  });

  test('measures refusals where they are asked for, and takes nothing else for one', async () => {
    seen.clear();
    const result = await run({ ...plan, answers: 'refused', requests: [getRequest('/missing')] });
    expect(seen.get('/missing')! - result.requests).toBeWithin(0, plan.connections + 1);
    const mixed = run({
      ...plan,
      answers: 'refused',
      requests: [getRequest('/missing'), getRequest('/found')],
    });
    expect(await mixed.catch(String)).toMatch(/requests to .* failed/);
  });

  test('says that no server listens', async () => {
    const silent = run({ ...plan, url: 'http://127.0.0.1:1', requests: [getRequest('/')] });
    expect(await silent.catch(String)).toMatch(/Error/);
  });
});
