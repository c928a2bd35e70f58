import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { ManualClock } from '../../src/base/clock.ts';
import { type Call, callerOf } from '../kit/client.ts';
import { accountOn } from '../kit/planned-account.ts';
import { startTerseHere, type TerseHere } from '../kit/terse-here.ts';

const link = { longUrl: 'https://example.com/limited' };

let terse: TerseHere;
let call: Call;
let clock: ManualClock;

async function start(env: Record<string, string> = {}): Promise<void> {
  clock = new ManualClock(Date.now());
  terse = await startTerseHere({ env: { TERSE_LINKS: 'memory', TERSE_LIMITS: 'default', ...env }, clock });
  call = callerOf(terse.url);
}

beforeEach(() => start());
afterEach(() => terse.stop());

const createAs = (key: string | undefined, forwardedFor?: string) =>
  call('POST', '/api/v1/links', {
    key,
    body: link,
    ...(forwardedFor !== undefined && { headers: { 'X-Forwarded-For': forwardedFor } }),
  });

describe('without a key', () => {
  test('five links an hour can be made, then one every twelve minutes', async () => {
    for (const remaining of ['4', '3', '2', '1', '0']) {
      const { status, headers } = await createAs(undefined);
      expect([status, headers.get('RateLimit-Limit'), headers.get('RateLimit-Remaining')]).toEqual([
        201,
        '5',
        remaining,
      ]);
    }
    const refused = await createAs(undefined);
    expect([refused.status, refused.headers.get('Retry-After')]).toEqual([429, '720']);
    expect(refused.headers.get('Content-Type')).toBe('application/problem+json');
    clock.advance(719_000);
    expect((await createAs(undefined)).status).toBe(429);
    clock.advance(1_000);
    expect((await createAs(undefined)).status).toBe(201);
  });

  test('no alias can be chosen', async () => {
    const body = { ...link, customAlias: 'mine' };
    expect((await call('POST', '/api/v1/links', { key: undefined, body })).status).toBe(401);
  });

  test('nothing can be made where the operator does not want it', async () => {
    await terse.stop();
    await start({ TERSE_ANONYMOUS: 'off' });
    expect((await createAs(undefined)).status).toBe(401);
  });

  test('an address that a stranger claims for itself counts for nothing', async () => {
    for (let n = 0; n < 5; n += 1) expect((await createAs(undefined, `203.0.113.${n}`)).status).toBe(201);
    expect((await createAs(undefined, '203.0.113.99')).status).toBe(429);
  });

  test('an address that a trusted proxy tells of is the one that counts', async () => {
    await terse.stop();
    await start({ TERSE_TRUSTED_PROXIES: '127.0.0.1' });
    for (let n = 0; n < 5; n += 1) expect((await createAs(undefined, '203.0.113.7')).status).toBe(201);
    expect((await createAs(undefined, '203.0.113.7')).status).toBe(429);
    expect((await createAs(undefined, '203.0.113.8')).status).toBe(201);
  });
});

test('an account makes as many links as its plan allows, whatever others do', async () => {
  const [one, other] = [await accountOn(call, 'free'), await accountOn(call, 'free')];
  for (let n = 0; n < 100; n += 1) expect((await createAs(one.key)).status).toBe(201);
  expect((await createAs(one.key)).headers.get('Retry-After')).toBe('36');
  expect((await createAs(other.key)).headers.get('RateLimit-Remaining')).toBe('99');
});

test('a plan that changes is in force at once', async () => {
  const { accountId, key } = await accountOn(call, 'free');
  for (let n = 0; n < 100; n += 1) await createAs(key);
  expect((await createAs(key)).status).toBe(429);
  await call('PATCH', `/api/v1/accounts/${accountId}`, { body: { plan: 'pro' } });
  const { status, headers } = await createAs(key);
  expect([status, headers.get('RateLimit-Limit')]).toEqual([201, '10000']);
  await call('PATCH', `/api/v1/accounts/${accountId}`, { body: { plan: 'unlimited' } });
  expect((await createAs(key)).headers.get('RateLimit-Limit')).toBeNull();
});

test('a refusal of any kind tells how things stand, and one before its time costs nothing', async () => {
  const { key } = await accountOn(call, 'free');
  const broken = await call('POST', '/api/v1/links', { key, body: '{"longUrl":' });
  expect([broken.status, broken.headers.get('RateLimit-Remaining')]).toEqual([400, '100']);
  const badUrl = await call('POST', '/api/v1/links', { key, body: { longUrl: 'ftp://example.com/' } });
  expect([badUrl.status, badUrl.headers.get('RateLimit-Remaining')]).toEqual([400, '99']);
  const read = await call('GET', '/api/v1/links', { key });
  expect([read.status, read.headers.get('RateLimit-Limit')]).toEqual([200, null]);
});

test('a request that was refused is counted by plan and kind', async () => {
  for (let n = 0; n < 7; n += 1) await createAs(undefined);
  const { body } = await call('GET', '/metrics');
  expect(body).toContain('terse_rate_limited_total{plan="anonymous",kind="create"} 2\n');
});

test('guessing at passwords is limited by address', async () => {
  const signIn = () =>
    call('POST', '/api/v1/session', { key: undefined, body: { email: 'a@example.com', password: 'wrong' } });
  for (let n = 0; n < 10; n += 1) expect((await signIn()).status).not.toBe(429);
  const refused = await signIn();
  expect([refused.status, refused.headers.get('Retry-After')]).toEqual([429, '6']);
});
