/** Design 0: camelCase, a key for every call. */
import { afterAll, describe, expect, test } from 'bun:test';
import { ManualClock } from '../../../src/base/clock.ts';
import { callerOf } from '../../kit/client.ts';
import { startTerseHere } from '../../kit/terse-here.ts';
import { adminKey } from '../../kit/terse-process.ts';
import { expectPrinted, sendPrinted } from './exchange.ts';

// Stopped, so that neither a limit nor an expiry depends on how fast the tests run.
const clock = new ManualClock(Date.now());
const terse = await startTerseHere({ clock, env: { TERSE_LIMITS: 'default' } });
const lenient = await startTerseHere({ clock, env: { TERSE_EXPIRED_STATUS: '404' } });
afterAll(() => Promise.all([terse.stop(), lenient.stop()]));

const printed = {
  shortCode: 'abc123',
  shortUrl: 'https://…/abc123',
  longUrl: 'https://example.com/…',
  createdAt: '2026-04-29T17:00:00Z',
  expiresAt: null,
};

describe('POST /api/v1/urls', () => {
  test.each([adminKey, `Bearer ${adminKey}`])(
    'with Authorization: %s creates a link',
    async Authorization => {
      const body = '{"longUrl": "https://example.com/a"}';
      const answer = await sendPrinted(terse.url, 'POST /api/v1/urls', { body, headers: { Authorization } });
      expect(answer.status).toBe(201);
      expectPrinted(answer.body, printed);
      expect(answer.body.longUrl).toBe('https://example.com/a');
    },
  );

  test('takes an alias and an expiry', async () => {
    const body =
      '{"longUrl": "https://example.com/a", "customAlias": "design0", "expiresAt": "2099-01-01T00:00:00Z"}';
    const answer = await sendPrinted(terse.url, 'POST /api/v1/urls', { body });
    expect(answer).toMatchObject({ status: 201, body: { shortCode: 'design0' } });
    expectPrinted(answer.body, { ...printed, expiresAt: '2099-01-01T00:00:00Z' });
  });

  test.each(['javascript:alert(1)', 'data:text/html,x', 'ftp://example.com/a'])(
    'rejects %s',
    async longUrl => {
      const body = JSON.stringify({ longUrl });
      const answer = await sendPrinted(terse.url, 'POST /api/v1/urls', { body });
      expect(answer).toMatchObject({ status: 400, body: { field: 'longUrl' } });
    },
  );

  test('is limited by the plan, and says when to retry', async () => {
    const call = callerOf(terse.url);
    const { id } = (await call('POST', '/api/v1/accounts', { body: { name: 'free', plan: 'free' } })).body;
    const { key } = (await call('POST', '/api/v1/keys', { body: { name: 'k', accountId: id } })).body;
    const create = () =>
      sendPrinted(terse.url, 'POST /api/v1/urls', {
        body: '{"longUrl": "https://example.com/a"}',
        headers: { Authorization: key },
      });
    for (let made = 0; made < 100; made += 1) expect((await create()).status).toBe(201);
    const refused = await create();
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  });
});

describe('GET /abc123', () => {
  test('redirects', async () => {
    await sendPrinted(terse.url, 'POST /api/v1/urls', {
      body: '{"longUrl": "https://example.com/b", "customAlias": "abc123"}',
    });
    const answer = await sendPrinted(terse.url, 'GET /abc123');
    expect(answer.status).toBe(302);
    expect(answer.headers.get('location')).toBe('https://example.com/b');
    expect(answer.headers.get('cache-control')).not.toBeNull();
  });

  test('of a missing link is 404 in JSON', async () => {
    expect(await sendPrinted(terse.url, 'GET /nolink1')).toMatchObject({
      status: 404,
      body: { status: 404 },
    });
  });

  test.each([
    ['410', () => terse, 410],
    ['404 by setting', () => lenient, 404],
  ] as const)('of an expired link is %s', async (_what, server, status) => {
    const { url } = server();
    const lifetimeMs = 60_000;
    const expiresAt = new Date(clock.now() + lifetimeMs).toISOString();
    const body = JSON.stringify({ longUrl: 'https://example.com/c', expiresAt });
    const { shortCode } = (await sendPrinted(url, 'POST /api/v1/urls', { body })).body;
    expect((await sendPrinted(url, `GET /${shortCode}`)).status).toBe(302);
    clock.advance(lifetimeMs);
    const answer = await sendPrinted(url, `GET /${shortCode}`);
    expect(answer.status).toBe(status);
    if (status === 410) expect(JSON.stringify(answer.body)).toContain('expired');
  });
});
