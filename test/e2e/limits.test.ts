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
  test('five links an hour can be created, then one every twelve minutes', async () => {
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

  test('no link can be created if the operator forbids it', async () => {
    await terse.stop();
    await start({ TERSE_ANONYMOUS: 'off' });
    expect((await createAs(undefined)).status).toBe(401);
  });

  test('an address that an untrusted client claims is ignored', async () => {
    for (let n = 0; n < 5; n += 1) expect((await createAs(undefined, `203.0.113.${n}`)).status).toBe(201);
    expect((await createAs(undefined, '203.0.113.99')).status).toBe(429);
  });

  test('an address that a trusted proxy forwards is the one that counts', async () => {
    await terse.stop();
    await start({ TERSE_TRUSTED_PROXIES: '127.0.0.1' });
    for (let n = 0; n < 5; n += 1) expect((await createAs(undefined, '203.0.113.7')).status).toBe(201);
    expect((await createAs(undefined, '203.0.113.7')).status).toBe(429);
    expect((await createAs(undefined, '203.0.113.8')).status).toBe(201);
  });
});

test('an account creates as many links as its plan allows, whatever others do', async () => {
  const [one, other] = [await accountOn(call, 'free'), await accountOn(call, 'free')];
  for (let n = 0; n < 100; n += 1) expect((await createAs(one.key)).status).toBe(201);
  expect((await createAs(one.key)).headers.get('Retry-After')).toBe('36');
  expect((await createAs(other.key)).headers.get('RateLimit-Remaining')).toBe('99');
});

test('a change of plan takes effect at once', async () => {
  const { accountId, key } = await accountOn(call, 'free');
  for (let n = 0; n < 100; n += 1) await createAs(key);
  expect((await createAs(key)).status).toBe(429);
  await call('PATCH', `/api/v1/accounts/${accountId}`, { body: { plan: 'pro' } });
  const { status, headers } = await createAs(key);
  expect([status, headers.get('RateLimit-Limit')]).toEqual([201, '10000']);
  await call('PATCH', `/api/v1/accounts/${accountId}`, { body: { plan: 'unlimited' } });
  expect((await createAs(key)).headers.get('RateLimit-Limit')).toBeNull();
});

test('a rejection of any kind reports the state of the limit, and an early one costs nothing', async () => {
  const { key } = await accountOn(call, 'free');
  const broken = await call('POST', '/api/v1/links', { key, body: '{"longUrl":' });
  expect([broken.status, broken.headers.get('RateLimit-Remaining')]).toEqual([400, '100']);
  const badUrl = await call('POST', '/api/v1/links', { key, body: { longUrl: 'ftp://example.com/' } });
  expect([badUrl.status, badUrl.headers.get('RateLimit-Remaining')]).toEqual([400, '99']);
  const read = await call('GET', '/api/v1/account', { key });
  expect([read.status, read.headers.get('RateLimit-Limit')]).toEqual([200, null]);
});

test('a rejected request is counted by plan and kind', async () => {
  for (let n = 0; n < 7; n += 1) await createAs(undefined);
  const { body } = await call('GET', '/metrics');
  expect(body).toContain('terse_rate_limited_total{plan="anonymous",kind="create"} 2\n');
});

test('guessing passwords is limited by address', async () => {
  const signIn = () =>
    call('POST', '/api/v1/session', { key: undefined, body: { email: 'a@example.com', password: 'wrong' } });
  for (let n = 0; n < 10; n += 1) expect((await signIn()).status).not.toBe(429);
  const refused = await signIn();
  expect([refused.status, refused.headers.get('Retry-After')]).toEqual([429, '6']);
});

/** Why these routes have no limit; everything else needs one. */
const unlimitedRoutes: Readonly<Record<string, string>> = {
  readLink: 'reads one row by its key',
  readOwnAccount: 'reads one row by its key',
  readAccount: 'reads one row by its key',
  // A thief must not be able to keep the owner from revoking a key by using up the limit.
  revokeKey: 'happens once for each key, and creating keys is limited',
  endSession: 'happens once for each session, and signing in is limited',
  closeSession: 'happens once for each session, and signing in is limited',
  readReportPage: 'is a page without data',
  readLiveness: 'is a health check',
  readReadiness: 'is a health check',
  readMetrics: 'is for the operator',
  followLink: 'has limits of its own',
  previewLink: 'has limits of its own',
};

test('every route that changes something or is expensive to answer is limited', async () => {
  const { paths } = (await call('GET', '/api/v1/openapi.json')).body as {
    paths: Record<
      string,
      Record<string, { operationId: string; responses: Record<string, { headers?: object }> }>
    >;
  };
  const operations = Object.values(paths).flatMap(item => Object.values(item));
  const unlimited = operations.filter(
    ({ responses }) =>
      !Object.values(responses).some(({ headers = {} }) => Object.hasOwn(headers, 'RateLimit-Limit')),
  );
  expect(unlimited.map(({ operationId }) => operationId).sort()).toEqual(Object.keys(unlimitedRoutes).sort());
});

describe('changes', () => {
  test('of a free account have a day’s worth in one bucket, which all its changes share', async () => {
    await terse.stop();
    await start({ TERSE_LIMITS: 'freeChanges=5/day' });
    const { key } = await accountOn(call, 'free');
    const { shortCode } = (await createAs(key)).body;
    const path = `/api/v1/links/${shortCode}`;
    const edit = (title: string) => call('PATCH', path, { key, body: { title } });
    expect((await edit('one')).headers.get('RateLimit-Remaining')).toBe('4');
    expect((await call('PUT', path, { key, body: link })).status).toBe(200);
    expect((await call('POST', '/api/v1/keys', { key, body: { name: 'second' } })).status).toBe(201);
    expect((await call('PATCH', '/api/v1/account', { key, body: { name: 'mine' } })).status).toBe(200);
    expect((await call('DELETE', `${path}/clicks`, { key })).status).toBe(204);
    const refused = await edit('two');
    expect([refused.status, refused.headers.get('Retry-After')]).toEqual([429, '17280']);
    expect((await call('DELETE', path, { key })).status).toBe(429);
    expect((await call('GET', path, { key })).body.title).toBeNull();
    clock.advance(17_280_000);
    expect((await call('DELETE', path, { key })).status).toBe(204);
  });

  test('do not use up the limit that revoking a stolen key needs', async () => {
    await terse.stop();
    await start({ TERSE_LIMITS: 'freeChanges=2/day' });
    const { accountId, key } = await accountOn(call, 'free');
    const stolen = (await call('POST', '/api/v1/keys', { body: { name: 'stolen', accountId } })).body;
    const rotate = () =>
      call('PATCH', '/api/v1/account', { key: stolen.key, body: { name: 'somebody else' } });
    for (let n = 0; n < 2; n += 1) expect((await rotate()).status).toBe(200);
    expect((await rotate()).status).toBe(429);
    expect((await call('DELETE', `/api/v1/keys/${stolen.id}`, { key })).status).toBe(204);
  });

  test('by the operator are not limited', async () => {
    await terse.stop();
    await start({ TERSE_LIMITS: 'freeChanges=1/day,anonymous=1/h' });
    for (let n = 0; n < 3; n += 1) {
      const { status, headers } = await call('PATCH', '/api/v1/account', { body: { name: `admin ${n}` } });
      expect([status, headers.get('RateLimit-Limit')]).toEqual([200, null]);
    }
  });
});

test('checks of aliases are limited', async () => {
  const { key } = await accountOn(call, 'pro');
  const check = (n: number) => call('GET', `/api/v1/aliases/guess-${n}`, { key });
  for (let n = 0; n < 60; n += 1) expect((await check(n)).status).toBe(200);
  const refused = await check(60);
  expect([refused.status, refused.headers.get('Retry-After')]).toEqual([429, '1']);
  clock.advance(1_000);
  expect((await check(61)).status).toBe(200);
});

describe('public statistics', () => {
  const start30Days = 'interval=day';

  test('cost a stranger more the more they ask for, and another address nothing', async () => {
    await terse.stop();
    await start({ TERSE_LIMITS: 'anonymousReads=10/min', TERSE_TRUSTED_PROXIES: '127.0.0.1' });
    const { shortCode } = (await call('POST', '/api/v1/links', { body: { ...link, publicStats: true } }))
      .body;
    const ask = (query: string, from: string) =>
      call('GET', `/api/v1/links/${shortCode}/stats?${query}`, {
        key: undefined,
        headers: { 'X-Forwarded-For': from },
      });
    const hours = `interval=hour&from=${new Date(clock.now() - 60 * 86_400_000).toISOString()}`;
    expect((await ask(start30Days, '203.0.113.7')).headers.get('RateLimit-Remaining')).toBe('9');
    expect((await ask(hours, '203.0.113.7')).headers.get('RateLimit-Remaining')).toBe('3');
    const refused = await ask(hours, '203.0.113.7');
    expect([refused.status, refused.headers.get('Retry-After')]).toEqual([429, '18']);
    expect((await ask(start30Days, '203.0.113.8')).status).toBe(200);
  });

  test('cost an IPv6 customer no more than sixteen networks’ worth, however many it has', async () => {
    await terse.stop();
    await start({ TERSE_LIMITS: 'anonymousReads=2/min', TERSE_TRUSTED_PROXIES: '127.0.0.1' });
    const { shortCode } = (await call('POST', '/api/v1/links', { body: { ...link, publicStats: true } }))
      .body;
    let served = 0;
    for (let network = 0; network < 40; network += 1) {
      const { status } = await call('GET', `/api/v1/links/${shortCode}/stats`, {
        key: undefined,
        headers: { 'X-Forwarded-For': `2001:db8:1:${network.toString(16)}::1` },
      });
      if (status === 200) served += 1;
    }
    expect(served).toBe(32);
  });
});
