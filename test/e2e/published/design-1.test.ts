/** Design 1: snake_case. */
import { afterAll, expect, test } from 'bun:test';
import { startTerseHere } from '../../kit/terse-here.ts';
import { expectPrinted, sendPrinted } from './exchange.ts';

const terse = await startTerseHere();
afterAll(() => terse.stop());

const create = {
  body: '{"long_url": "https://example.com/very/long/path?q=1", "custom_alias": "my-link", "expires_at": "2027-01-01T00:00Z"}',
};

test('POST /api/v1/urls, GET /my-link and its statistics', async () => {
  const created = await sendPrinted(terse.url, 'POST /api/v1/urls', create);
  expect(created.status).toBe(201);
  expectPrinted(created.body, {
    short_url: 'https://tny.li/my-link',
    long_url: 'https://example.com/very/long/path?q=1',
    expires_at: '2027-01-01T00:00Z',
    created_at: '2026-04-29T17:00:00Z',
  });
  expect(Object.keys(created.body).filter(name => /[A-Z]/.test(name))).toEqual([]);
  expect(created.body.long_url).toBe('https://example.com/very/long/path?q=1');
  expect(Date.parse(created.body.expires_at)).toBe(Date.parse('2027-01-01T00:00:00Z'));
  expect(created.body.short_url).toEndWith('/my-link');

  for (const Referer of ['https://twitter.com/a', 'https://twitter.com/b', 'https://linkedin.com/']) {
    const headers = {
      Referer,
      'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
    };
    const followed = await sendPrinted(terse.url, 'GET /my-link', { headers });
    expect(followed.status).toBe(302);
    expect(followed.headers.get('location')).toBe('https://example.com/very/long/path?q=1');
  }

  let stats = await sendPrinted(terse.url, 'GET /api/v1/urls/my-link/stats');
  while (stats.status === 200 && stats.body.total_clicks < 3) {
    await Bun.sleep(100);
    stats = await sendPrinted(terse.url, 'GET /api/v1/urls/my-link/stats');
  }
  expect(stats.status).toBe(200);
  expectPrinted(stats.body, {
    total_clicks: 42_318,
    clicks_24h: 870,
    top_referrers: ['twitter.com'],
    top_countries: [],
  });
  expect(stats.body).toMatchObject({
    total_clicks: 3,
    clicks_24h: 3,
    top_referrers: ['twitter.com', 'linkedin.com'],
    top_countries: [],
  });
});

test('an error names the field as it was sent', async () => {
  const body = '{"long_url": "https://example.com/", "expires_at": "soon"}';
  const refused = await sendPrinted(terse.url, 'POST /api/v1/urls', { body });
  expect(refused).toMatchObject({
    status: 400,
    body: { field: 'expires_at', errors: [{ field: 'expires_at' }] },
  });
  expect(refused.body.detail).toStartWith('“expires_at” must be an ISO 8601 date');
});
