/** Design 4: snake_case, POST /api/v1/shorten. */
import { afterAll, expect, test } from 'bun:test';
import { callerOf } from '../../kit/client.ts';
import { startTerseHere } from '../../kit/terse-here.ts';
import { expectPrinted, sendPrinted } from './exchange.ts';

const terse = await startTerseHere();
afterAll(() => terse.stop());

const create = { body: '{"url": "https://example.com/very/long/path/that/needs/shortening"}', headers: {} };
const printed = {
  short_code: 'xV2bP9qK',
  short_url: 'https://short.ly/xV2bP9qK',
  original_url: 'https://example.com/very/long/path/that/needs/shortening',
  created_at: '2026-03-22T10:30:00Z',
  expires_at: null,
};

test('POST /api/v1/shorten answers exactly as printed', async () => {
  const created = await sendPrinted(terse.url, 'POST /api/v1/shorten', create);
  expect(created.status).toBe(201);
  expectPrinted(created.body, printed);
  expect(Object.keys(created.body)).toEqual(Object.keys(printed));
  expect(created.body.original_url).toBe(printed.original_url);
});

test('custom_code needs a key', async () => {
  const body = '{"url": "https://example.com/", "custom_code": "mine-4"}';
  expect((await sendPrinted(terse.url, 'POST /api/v1/shorten', { body, headers: {} })).status).toBe(401);
  const created = await sendPrinted(terse.url, 'POST /api/v1/shorten', { body });
  expect(created).toMatchObject({ status: 201, body: { short_code: 'mine-4' } });
});

test('a blocked domain is 403, a bad URL 400', async () => {
  const entry = { entry: 'evil.example' };
  expect((await callerOf(terse.url)('POST', '/api/v1/blocklist', { body: entry })).status).toBe(201);
  const blocked = await sendPrinted(terse.url, 'POST /api/v1/shorten', {
    body: '{"url": "https://evil.example/"}',
  });
  expect(blocked.status).toBe(403);
  const bad = await sendPrinted(terse.url, 'POST /api/v1/shorten', { body: '{"url": "nonsense"}' });
  expect(bad).toMatchObject({ status: 400, body: { field: 'url' } });
});

test('a link is read, counted, replaced and deleted under /api/v1/links', async () => {
  const body = '{"url": "https://example.com/a"}';
  const { short_code: code } = (await sendPrinted(terse.url, 'POST /api/v1/shorten', { body })).body;
  expect((await sendPrinted(terse.url, `GET /api/v1/links/${code}`)).status).toBe(200);
  expect((await sendPrinted(terse.url, `GET /api/v1/links/${code}/stats`)).status).toBe(200);
  const replaced = await sendPrinted(terse.url, `PUT /api/v1/links/${code}`, {
    body: '{"url": "https://example.com/b"}',
  });
  expect(replaced.status).toBe(200);
  expect((await sendPrinted(terse.url, `GET /${code}`)).headers.get('location')).toBe(
    'https://example.com/b',
  );
  expect((await sendPrinted(terse.url, `DELETE /api/v1/links/${code}`)).status).toBe(204);
});

test.each([
  'url_redirects_total',
  'url_shortens_total',
  'redirect_latency_seconds',
  'cache_hit_ratio',
  'malicious_url_attempts_total',
  'kgs_available_keys',
])('there is a metric %s', async name => {
  expect((await sendPrinted(terse.url, 'GET /metrics')).body).toContain(`# TYPE ${name} `);
});
