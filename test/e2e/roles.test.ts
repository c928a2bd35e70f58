/** Processes with roles: each does only its part, and together they work as one Terse. */
import { afterAll, expect, test } from 'bun:test';
import { callerOf } from '../kit/client.ts';
import { startTerseProcess } from '../kit/terse-process.ts';

const api = await startTerseProcess({ env: { TERSE_ROLES: 'api' } });
const { dataFolder } = api;
const redirect = await startTerseProcess({ dataFolder, env: { TERSE_ROLES: 'redirect' } });
const worker = await startTerseProcess({ dataFolder, env: { TERSE_ROLES: 'worker' } });
afterAll(async () => {
  for (const terse of [redirect, worker, api]) await terse.stop();
});
const body = { longUrl: 'https://example.com/there' };
const statusAt = async (terse: { readonly url: string }, path: string, method = 'GET'): Promise<number> =>
  (await callerOf(terse.url)(method, path, method === 'POST' ? { body } : {})).status;

test('a link created in the API process is followed in the redirect process', async () => {
  const { shortCode } = (await callerOf(api.url)('POST', '/api/v1/links', { body })).body;
  expect(await statusAt(redirect, `/${shortCode}`)).toBe(302);
  for (const other of [api, worker]) expect(await statusAt(other, `/${shortCode}`)).toBe(404);
});

test('the API, the docs and the dashboard are served by the role for them only', async () => {
  for (const path of ['/', '/docs', '/dashboard', '/api/v1/links', '/api/v1/openapi.json']) {
    expect([path, await statusAt(api, path)]).toEqual([path, 200]);
    for (const other of [redirect, worker]) expect([path, await statusAt(other, path)]).toEqual([path, 404]);
  }
  for (const other of [redirect, worker]) expect(await statusAt(other, '/api/v1/links', 'POST')).toBe(404);
});

test('every process reports its health and shows its metrics', async () => {
  for (const terse of [api, redirect, worker]) {
    for (const path of ['/health/live', '/health/ready', '/metrics', '/robots.txt'])
      expect([path, await statusAt(terse, path)]).toEqual([path, 200]);
  }
});
