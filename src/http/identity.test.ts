import { describe, expect, test } from 'bun:test';
import { actorOf, anonymous } from '../accounts/account.ts';
import { fakeAccount, fakeActor, fakeKey } from '../accounts/fake-actors.ts';
import { Problem } from '../base/errors.ts';
import { createDeviceCookie, createIdentity, createSessionCookie, refuseForeign } from './identity.ts';
import type { Method, Route } from './route.ts';

const byKey = fakeActor('acc_key');
const bySession = actorOf(fakeAccount('acc_session'), { sessionId: 'ses_1' });
const cookie = createSessionCookie('https://sho.rt');
const authenticate = (actors: Record<string, typeof byKey>) => async (secret: string) => {
  const actor = actors[secret];
  if (actor !== undefined) return actor;
  throw new Problem('unauthorized', { detail: `${secret} is not valid` });
};
const identity = createIdentity({
  credentials: { authenticate: authenticate({ key: byKey }) },
  sessions: { authenticate: authenticate({ token: bySession }) },
  cookie,
});
const identify = async (...given: Parameters<typeof identity>) => identity(...given);

const route = (auth: Route['auth'], scope?: Route['scope']) =>
  ({ auth, ...(scope && { scope }) }) as unknown as Route;
const request = (headers: Record<string, string>, method: Method = 'GET') =>
  new Request('https://sho.rt/api/v1/links', { method, headers });
const key = { authorization: 'Bearer key' };
const session = { cookie: `${cookie.name}=token` };
const ours = { 'sec-fetch-site': 'same-origin' };
const refused = (code: string) => expect.objectContaining({ code });

describe('who a request comes from', () => {
  test('is decided by its key, else by its session, else it is anonymous', async () => {
    expect(await identify(route('required'), request(key))).toBe(byKey);
    expect(await identify(route('required'), request(session))).toBe(bySession);
    expect(await identify(route('required'), request({ ...key, ...session }))).toBe(byKey);
    expect(await identify(route('optional'), request({}))).toBe(anonymous);
    await expect(identify(route('required'), request({}))).rejects.toEqual(refused('unauthorized'));
  });

  test('is not looked up where the route does not need it', async () => {
    expect(await identify(route('none'), request({ authorization: 'Bearer wrong' }))).toBe(anonymous);
    expect(await identify(route('none'), request({ cookie: `${cookie.name}=wrong` }, 'POST'))).toBe(
      anonymous,
    );
  });

  test('is never guessed: a credential must be valid even where none is needed', async () => {
    for (const headers of [{ authorization: 'Bearer wrong' }, { cookie: `${cookie.name}=wrong` }]) {
      await expect(identify(route('optional'), request(headers as Record<string, string>))).rejects.toEqual(
        refused('unauthorized'),
      );
    }
  });

  test('a session that has ended makes the browser drop its cookie; an invalid key does not', async () => {
    const problemWith = (headers: Record<string, string>): Promise<Problem> =>
      identify(route('optional'), request(headers)).then(
        () => expect.unreachable(),
        error => error,
      );
    expect((await problemWith({ cookie: `${cookie.name}=wrong` })).headers).toEqual({
      'Set-Cookie': cookie.forget,
    });
    expect((await problemWith({ cookie: `${cookie.name}=a b` })).headers).toEqual({
      'Set-Cookie': cookie.forget,
    });
    expect((await problemWith({ authorization: 'Bearer wrong', ...session })).headers).toEqual({});
  });

  test.each(['POST', 'PUT', 'PATCH', 'DELETE'] as const)(
    'a %s with a session must come from our own pages, one with a key may come from anywhere',
    async method => {
      const foreign = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' };
      for (const auth of ['required', 'optional'] as const) {
        await expect(identify(route(auth), request({ ...session, ...foreign }, method))).rejects.toEqual(
          refused('foreign_origin'),
        );
        await expect(identify(route(auth), request(session, method))).rejects.toEqual(
          refused('foreign_origin'),
        );
        expect(await identify(route(auth), request({ ...session, ...ours }, method))).toBe(bySession);
        expect(await identify(route(auth), request({ ...key, ...session, ...foreign }, method))).toBe(byKey);
      }
    },
  );

  test('needs the scope of the route; an anonymous caller is not checked for one', async () => {
    const narrow = actorOf(fakeAccount('acc_1'), { key: fakeKey('k', 'acc_1', { scopes: ['links:read'] }) });
    const asNarrow = createIdentity({
      credentials: { authenticate: async () => narrow },
      sessions: { authenticate: authenticate({}) },
      cookie,
    });
    expect(await asNarrow(route('required', 'links:read'), request(key))).toBe(narrow);
    expect(await asNarrow(route('required'), request(key))).toBe(narrow);
    for (const scope of ['links:write', 'stats:read', 'moderate', 'admin'] as const) {
      for (const auth of ['required', 'optional'] as const) {
        await expect(asNarrow(route(auth, scope), request(key))).rejects.toEqual(refused('forbidden'));
      }
    }
    expect(await asNarrow(route('optional', 'links:write'), request({}))).toBe(anonymous);
  });
});

const plain = createSessionCookie('http://localhost:8080');
const secure = createSessionCookie('https://sho.rt');
const headers = (fields: Record<string, string>) => new Headers(fields);

describe('the session cookie', () => {
  test('is restricted to this host: no scripts, no other site, and over TLS only where there is TLS', () => {
    expect(plain.keep('abc', 61_500)).toBe(
      'terse_session=abc; Path=/; HttpOnly; SameSite=Strict; Max-Age=61',
    );
    expect(secure.keep('abc', 61_500)).toBe(
      '__Host-terse_session=abc; Path=/; HttpOnly; SameSite=Strict; Secure; Max-Age=61',
    );
    expect(secure.forget).toBe('__Host-terse_session=; Path=/; HttpOnly; SameSite=Strict; Secure; Max-Age=0');
  });

  test('is found among others', () => {
    const among = 'a=b; terse_session=session_x-1; __Host-terse_session=other; xterse_session=y';
    expect(plain.tokenOf(headers({ cookie: among }))).toBe('session_x-1');
    expect(secure.tokenOf(headers({ cookie: among }))).toBe('other');
    for (const cookie of ['a=b', 'terse_session', 'Terse_Session=x', '']) {
      expect(plain.tokenOf(headers({ cookie }))).toBeUndefined();
    }
    expect(plain.tokenOf(headers({}))).toBeUndefined();
  });

  test.each([
    'terse_session=',
    'terse_session=a b',
    'terse_session="quoted"',
    'terse_session=one; terse_session=one',
    'terse_session=one; terse_session=two',
    `terse_session=${'x'.repeat(129)}`,
    'terse_session=["a"]',
  ])('in a malformed header is rejected: %s', cookie => {
    expect(() => plain.tokenOf(headers({ cookie }))).toThrow(
      expect.objectContaining({ code: 'unauthorized' }),
    );
  });
});

describe('a request is same-origin', () => {
  test.each([
    [{ 'sec-fetch-site': 'same-origin' }, true],
    [{ 'sec-fetch-site': 'same-origin', origin: 'https://sho.rt' }, true],
    [{ origin: 'https://sho.rt', host: 'localhost' }, true],
    [{ origin: 'https://SHO.rt', host: 'sho.rt' }, true],
    [{ origin: 'https://go.example', host: 'go.example' }, true],
    [{ 'sec-fetch-site': 'same-site', origin: 'https://sho.rt' }, false],
    [{ 'sec-fetch-site': 'cross-site', origin: 'https://sho.rt' }, false],
    [{ 'sec-fetch-site': 'none' }, false],
    [{ 'sec-fetch-site': '' }, false],
    [{}, false],
    [{ host: 'sho.rt' }, false],
    [{ origin: 'https://sho.rt' }, false],
    [{ origin: 'https://null' }, false],
    [{ origin: 'null', host: 'null' }, false],
    [{ origin: 'http://sho.rt', host: 'sho.rt' }, false],
    [{ origin: 'https://sho.rt:8443', host: 'sho.rt' }, false],
    [{ origin: 'https://sho.rt.evil.example', host: 'sho.rt' }, false],
    [{ origin: 'https://evil.example', host: 'sho.rt' }, false],
    [{ origin: 'https://evil.example/?https://sho.rt', host: 'sho.rt' }, false],
    [{ referer: 'https://sho.rt/app', host: 'sho.rt' }, false],
  ] as [Record<string, string>, boolean][])('%j: %p', (fields, isOurs) => {
    expect(secure.isOurs(headers(fields))).toBe(isOurs);
  });

  test('also without TLS, where the server has none', () => {
    expect(plain.isOurs(headers({ origin: 'http://127.0.0.1:9000', host: '127.0.0.1:9000' }))).toBe(true);
    expect(plain.isOurs(headers({ origin: 'http://127.0.0.1:9001', host: '127.0.0.1:9000' }))).toBe(false);
  });
});

test('a session can be started by a program, but not from another site', () => {
  const request = (fields: Record<string, string>) => new Request('https://sho.rt/', { headers: fields });
  for (const fields of [
    {},
    { 'sec-fetch-site': 'same-origin' },
    { origin: 'https://sho.rt', host: 'sho.rt' },
  ]) {
    refuseForeign(secure, request(fields as Record<string, string>));
  }
  for (const fields of [
    { 'sec-fetch-site': 'cross-site' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
  ]) {
    expect(() => refuseForeign(secure, request(fields as Record<string, string>))).toThrow(
      expect.objectContaining({ code: 'foreign_origin' }),
    );
  }
});

describe('the cookie of a known device', () => {
  const device = createDeviceCookie('https://sho.rt');

  test('is restricted to this host, and kept for a year beside the session', () => {
    const response = new Response(null, { headers: { 'Set-Cookie': secure.keep('abc', 1_000) } });
    device.keepWith(response, 'a.b.c');
    device.keepWith(response, undefined);
    expect(response.headers.getSetCookie()).toEqual([
      secure.keep('abc', 1_000),
      '__Host-terse_device=a.b.c; Path=/; HttpOnly; SameSite=Strict; Secure; Max-Age=31536000',
    ]);
  });

  test('is never rejected: a malformed one is a token that nothing accepts', () => {
    const cookie = '__Host-terse_session=x; __Host-terse_device=a b; __Host-terse_device=c';
    expect(device.tokenOf(headers({ cookie }))).toBe('a b');
    expect(device.tokenOf(headers({ cookie: 'terse_device=a' }))).toBeUndefined();
    expect(device.tokenOf(headers({}))).toBeUndefined();
  });
});
