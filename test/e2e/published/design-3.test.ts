/** Design 3: POST /shorten, also by strangers. */
import { afterAll, expect, test } from 'bun:test';
import { startTerseHere } from '../../kit/terse-here.ts';
import { sendPrinted } from './exchange.ts';

const terse = await startTerseHere();
afterAll(() => terse.stop());

test.each(['{"url": "https://example.com/a"}', '{"long_url": "https://example.com/a"}'])(
  'POST /shorten %s needs no key',
  async body => {
    const created = await sendPrinted(terse.url, 'POST /shorten', { body, headers: {} });
    expect(created.status).toBe(201);
    const followed = await sendPrinted(terse.url, `GET /${created.body.short_code}`);
    expect(followed.status).toBe(302);
    expect(followed.headers.get('location')).toBe('https://example.com/a');
  },
);

test.each(['slug', 'custom_slug'])('a %s that is a route of ours is reserved, and says so', async name => {
  const body = JSON.stringify({ url: 'https://example.com/', [name]: 'api' });
  const refused = await sendPrinted(terse.url, 'POST /shorten', { body });
  expect(refused).toMatchObject({ status: 409, body: { field: name } });
  expect(refused.body.detail).toContain('this slug is reserved');
});

test('a link can be permanent, get another destination and an expiry, and be deleted', async () => {
  const body = '{"url": "https://example.com/a", "redirect_type": 301}';
  const { short_code: code } = (await sendPrinted(terse.url, 'POST /shorten', { body })).body;
  expect((await sendPrinted(terse.url, `GET /${code}`)).status).toBe(301);
  const changed = await sendPrinted(terse.url, `PUT /shorten/${code}`, {
    body: '{"url": "https://example.com/b"}',
  });
  expect(changed).toMatchObject({ status: 200, body: { long_url: 'https://example.com/b' } });
  const expiring = await sendPrinted(terse.url, `PATCH /shorten/${code}`, {
    body: '{"expires_at": "2099-12-31"}',
  });
  expect(expiring.body.expires_at).toBe('2099-12-31T00:00:00.000Z');
  expect((await sendPrinted(terse.url, `DELETE /shorten/${code}`)).status).toBe(204);
  expect((await sendPrinted(terse.url, `GET /${code}`)).status).toBe(410);
});
