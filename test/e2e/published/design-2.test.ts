/** Design 2: camelCase under /v1/links. */
import { afterAll, expect, test } from 'bun:test';
import { startTerseHere } from '../../kit/terse-here.ts';
import { expectPrinted, sendPrinted } from './exchange.ts';

const terse = await startTerseHere({ env: { TERSE_CODE_LENGTH: '8' } });
afterAll(() => terse.stop());

test('POST /v1/links, with codes of eight characters by setting', async () => {
  const body = '{"longUrl": "https://example.com/a"}';
  const created = await sendPrinted(terse.url, 'POST /v1/links', { body });
  expect(created.status).toBe(201);
  expectPrinted(created.body, { shortCode: 'Ab3x9K7Q', shortUrl: 'https://short.ly/Ab3x9K7Q' });
  expect(created.body.shortCode).toHaveLength(8);
  const { shortCode } = created.body;
  expect((await sendPrinted(terse.url, `GET /${shortCode}`)).status).toBe(302);

  const stats = await sendPrinted(terse.url, `GET /v1/links/${shortCode}/stats`);
  expect(stats.status).toBe(200);
  expectPrinted(stats.body, { totalClicks: 0 });
  expect(Object.keys(stats.body)).toContain('lastUpdatedAt');
  const filling = stats.body.series.filter((bucket: { filling: boolean }) => bucket.filling);
  expect(filling.length).toBeGreaterThan(0);

  await sendPrinted(terse.url, `PATCH /v1/links/${shortCode}`, { body: '{"status": "disabled"}' });
  expect((await sendPrinted(terse.url, `GET /${shortCode}`)).status).toBe(410);
});

test('its errors have the printed status', async () => {
  const body = '{"longUrl": "https://example.com/a", "customAlias": "promo2024"}';
  expect((await sendPrinted(terse.url, 'POST /v1/links', { body })).status).toBe(201);
  expect((await sendPrinted(terse.url, 'POST /v1/links', { body: body.replace('/a', '/b') })).status).toBe(
    409,
  );
  for (const wrong of [
    '{"longUrl": "nonsense"}',
    '{"longUrl": "https://example.com/", "customAlias": "a b"}',
  ])
    expect((await sendPrinted(terse.url, 'POST /v1/links', { body: wrong })).status).toBe(400);
  expect((await sendPrinted(terse.url, 'GET /v1/links/missing1/stats')).status).toBe(404);
  await sendPrinted(terse.url, 'DELETE /v1/links/promo2024');
  expect((await sendPrinted(terse.url, 'GET /promo2024')).status).toBe(410);
});
