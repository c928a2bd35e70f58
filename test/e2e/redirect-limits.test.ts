/** A client that guesses codes, or follows more links than allowed, has to wait; others are not affected. */
import { afterAll, expect, test } from 'bun:test';
import { callerOf } from '../kit/client.ts';
import { startTerseHere } from '../kit/terse-here.ts';

const probed = await startTerseHere({
  env: { TERSE_PROBE_LIMIT: '5/min', TERSE_TRUSTED_PROXIES: '127.0.0.0/8' },
});
const limited = await startTerseHere({
  env: { TERSE_REDIRECT_LIMIT: '3/min', TERSE_TRUSTED_PROXIES: '127.0.0.0/8' },
});
afterAll(() => Promise.all([probed.stop(), limited.stop()]));

const from = (url: string, address: string) => (path: string) =>
  callerOf(url)('GET', path, { headers: { 'X-Forwarded-For': address } });
const createOn = async (url: string): Promise<string> =>
  (await callerOf(url)('POST', '/api/v1/links', { body: { longUrl: 'https://example.com/' } })).body
    .shortCode;

test('an address that asks for codes that do not exist gets 429, but still follows known links', async () => {
  const code = await createOn(probed.url);
  const visit = from(probed.url, '203.0.113.7');
  expect((await visit(`/${code}`)).status).toBe(302);
  for (let guess = 0; guess < 5; guess += 1) expect((await visit(`/guess${guess}x`)).status).toBe(404);
  for (const path of ['/guess9x', '/guess0x', '/guess9x+']) {
    const refused = await visit(path);
    expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited' } });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  }
  expect((await visit(`/${code}`)).status).toBe(302);
  expect((await from(probed.url, '203.0.113.8')('/guess9x')).status).toBe(404);
});

test('a path that cannot be a code is no guess', async () => {
  const visit = from(probed.url, '203.0.113.9');
  for (let request = 0; request < 20; request += 1) expect((await visit('/favicon.png')).status).toBe(404);
  expect((await visit('/guess1x')).status).toBe(404);
});

test('an address that follows more links than allowed has to wait, and rejected visits are not counted', async () => {
  const code = await createOn(limited.url);
  const visit = from(limited.url, '203.0.113.7');
  for (let count = 0; count < 3; count += 1) expect((await visit(`/${code}`)).status).toBe(302);
  const refused = await visit(`/${code}`);
  expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited' } });
  expect((await from(limited.url, '203.0.113.8')(`/${code}`)).status).toBe(302);
  const metrics = await (await fetch(`${limited.url}/metrics`)).text();
  expect(metrics).toMatch(/^terse_clicks_recorded_total 4$/m);
});
