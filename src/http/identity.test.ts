import { describe, expect, test } from 'bun:test';
import { actorOf, anonymous } from '../accounts/account.ts';
import { fakeAccount, fakeActor, fakeKey } from '../accounts/fake-actors.ts';
import { Problem } from '../base/errors.ts';
import { createIdentity } from './identity.ts';
import type { Method, Route } from './route.ts';
import { createSessionCookie } from './session-cookie.ts';

const byKey = fakeActor('acc_key');
const bySession = actorOf(fakeAccount('acc_session'), { sessionId: 'ses_1' });
const cookie = createSessionCookie('https://sho.rt');
const authenticate = (actors: Record<string, typeof byKey>) => async (secret: string) => {
  const actor = actors[secret];
  if (actor !== undefined) return actor;
  throw new Problem('unauthorized', { detail: `${secret} is not valid` });
};
const identify = createIdentity({
  credentials: { authenticate: authenticate({ key: byKey }) },
  sessions: { authenticate: authenticate({ token: bySession }) },
  cookie,
});

const route = (auth: Route['auth'], scope?: Route['scope']) =>
  ({ auth, ...(scope && { scope }) }) as unknown as Route;
const request = (headers: Record<string, string>, method: Method = 'GET') =>
  new Request('https://sho.rt/api/v1/links', { method, headers });
const key = { authorization: 'Bearer key' };
const session = { cookie: `${cookie.name}=token` };
const ours = { 'sec-fetch-site': 'same-origin' };
const refused = (code: string) => expect.objectContaining({ code });

describe('who a request comes from', () => {
  test('is told by its key, else by its session, else it is nobody', async () => {
    expect(await identify(route('required'), request(key))).toBe(byKey);
    expect(await identify(route('required'), request(session))).toBe(bySession);
    expect(await identify(route('required'), request({ ...key, ...session }))).toBe(byKey);
    expect(await identify(route('optional'), request({}))).toBe(anonymous);
    await expect(identify(route('required'), request({}))).rejects.toEqual(refused('unauthorized'));
  });

  test('is not asked where nobody needs to know', async () => {
    expect(await identify(route('none'), request({ authorization: 'Bearer wrong' }))).toBe(anonymous);
    expect(await identify(route('none'), request({ cookie: `${cookie.name}=wrong` }, 'POST'))).toBe(
      anonymous,
    );
  });

  test('is never guessed: what is sent must be valid also where nothing is needed', async () => {
    for (const headers of [{ authorization: 'Bearer wrong' }, { cookie: `${cookie.name}=wrong` }]) {
      await expect(identify(route('optional'), request(headers as Record<string, string>))).rejects.toEqual(
        refused('unauthorized'),
      );
    }
  });

  test('a session that has ended is forgotten by the browser; a key is not the browser’s', async () => {
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

  test('needs the scope of the route; nobody has none to lack', async () => {
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
