/** Who may see and change a link. Existence is part of what is protected. */
import { afterAll, expect, test } from 'bun:test';
import { callerOf } from '../kit/client.ts';
import { expectProblem } from '../kit/expect-problem.ts';
import { addAccount } from '../kit/stored-rows.ts';
import { startTerseHere } from '../kit/terse-here.ts';

const terse = await startTerseHere();
afterAll(() => terse.stop());
const call = callerOf(terse.url);
const strangerKey = addAccount(terse.dataFolder, 'stranger');

const create = async () =>
  (await call('POST', '/api/v1/links', { body: { longUrl: 'https://example.com/' } })).body;

const attempts = [
  ['GET', ''],
  ['GET', '/qr'],
  ['PATCH', '', { status: 'disabled' }],
  ['PUT', '', { longUrl: 'https://e.com/' }],
  ['DELETE', ''],
] as const;

test('a caller who is neither owner nor admin gets the same answer for a foreign, a deleted and a missing link', async () => {
  const live = await create();
  const deleted = await create();
  await call('DELETE', `/api/v1/links/${deleted.shortCode}`);
  for (const [method, below, body] of attempts) {
    for (const [key, status] of [
      [strangerKey, 404],
      [undefined, 401],
    ] as const) {
      const [answer, ...others] = await Promise.all(
        [live.shortCode, deleted.shortCode, 'missing', '0000000'].map(code =>
          call(method, `/api/v1/links/${code}${below}`, { key, ...(body && { body }) }),
        ),
      );
      expectProblem(answer!, status, status === 404 ? 'not_found' : 'unauthorized');
      for (const other of others) expect(other.body).toEqual(answer!.body);
    }
  }
  expect(await call('GET', `/api/v1/links/${live.shortCode}`)).toMatchObject({ status: 200, body: live });
});

test('the admin manages links of other accounts and links without an owner', async () => {
  for (const key of [strangerKey, undefined]) {
    const made = await call('POST', '/api/v1/links', { key, body: { longUrl: 'https://e.com/theirs' } });
    const path = `/api/v1/links/${made.body.shortCode}`;
    expect(await call('GET', path)).toMatchObject({ status: 200, body: made.body });
    expect(await call('DELETE', path)).toMatchObject({ status: 204 });
    expect(await call('GET', `/${made.body.shortCode}`)).toMatchObject({ status: 410 });
  }
});

test('where anonymous links are switched off, creating needs a key', async () => {
  const closed = await startTerseHere({ env: { TERSE_ANONYMOUS: 'off' } });
  try {
    const callClosed = callerOf(closed.url);
    const one = { longUrl: 'https://example.com/' };
    for (const [path, body] of [
      ['/api/v1/links', one],
      ['/api/v1/links/bulk', { links: [one] }],
    ] as const) {
      expectProblem(await callClosed('POST', path, { key: undefined, body }), 401, 'unauthorized');
      expect((await callClosed('POST', path, { body })).status).toBeOneOf([200, 201]);
    }
  } finally {
    await closed.stop();
  }
});
