/** The life of a link through the API: create, find again, edit, replace, delete. */
import { afterAll, describe, expect, test } from 'bun:test';
import { ManualClock } from '../../src/base/clock.ts';
import { callerOf } from '../kit/client.ts';
import { expectProblem } from '../kit/expect-problem.ts';
import { addAccount, storedRows } from '../kit/stored-rows.ts';
import { startTerseHere } from '../kit/terse-here.ts';
import { browser } from '../kit/visitors.ts';

const clock = new ManualClock(Date.UTC(2026, 5, 1, 12));
const terse = await startTerseHere({ clock });
afterAll(() => terse.stop());
const call = callerOf(terse.url);
const publicUrl = terse.url.replace('127.0.0.1', 'localhost');
const strangerKey = addAccount(terse.dataFolder, 'stranger');

const visit = (code: string) => call('GET', `/${code}`, { key: undefined, headers: browser });
/** Sets the clock without running the timers of the time in between. */
const passMs = (durationMs: number) => clock.set(clock.now() + durationMs);
const anHourFromNow = () => new Date(clock.now() + 3_600_000).toISOString();

let links = 0;
/** A new link for each test, with defaults for fields that are not given. */
async function create(fields: Record<string, unknown> = {}) {
  links += 1;
  const answer = await call('POST', '/api/v1/links', {
    body: { longUrl: `https://example.com/page/${links}`, ...fields },
  });
  expect(answer.status).toBe(201);
  return answer.body;
}

const defaults = {
  status: 'active',
  expiresAt: null,
  title: null,
  tags: [],
  redirectType: 302,
  forwardQuery: false,
  maxClicks: null,
  usedClicks: 0,
};

describe('creating a link', () => {
  test('takes every field, and answers with the whole link and its location', async () => {
    const fields = {
      longUrl: 'https://example.com/a?b=c#d',
      customAlias: 'every-field',
      expiresAt: '2026-12-31T23:59:59.000Z',
      title: 'Überschrift ✂',
      tags: ['spring', 'Ω'],
      redirectType: 308,
      findExisting: false,
      maxClicks: 7,
      forwardQuery: true,
    };
    const answer = await call('POST', '/api/v1/links', { body: fields });
    const { customAlias: _alias, findExisting: _find, ...kept } = fields;
    expect(answer).toMatchObject({ status: 201 });
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(answer.body).toMatchObject({
      ...kept,
      shortCode: 'every-field',
      shortUrl: `${publicUrl}/every-field`,
      status: 'active',
      createdAt: '2026-06-01T12:00:00.000Z',
      updatedAt: '2026-06-01T12:00:00.000Z',
      usedClicks: 0,
      custom: true,
    });
    expect(answer.headers.get('location')).toBe(`${publicUrl}/api/v1/links/every-field`);
    const resource = await call('GET', new URL(answer.headers.get('location')!).pathname);
    expect(resource).toMatchObject({ status: 200, body: answer.body });
  });

  test('needs only a URL, and generates a new code each time', async () => {
    const [first, second] = [await create(), await create()];
    for (const link of [first, second]) {
      expect(link).toMatchObject({ ...defaults, custom: false });
      expect(link.shortCode).toMatch(/^[0-9A-Za-z]{7}$/);
    }
    expect(first.shortCode).not.toBe(second.shortCode);
    expect(await visit(first.shortCode)).toMatchObject({ status: 302 });
  });

  test('stores the URL as the WHATWG parser serialises it', async () => {
    const { longUrl } = await create({ longUrl: '  HTTP://EXAMPLE.com:80/a/../b?q=ü ' });
    expect(longUrl).toBe('http://example.com/b?q=%C3%BC');
  });

  test('is open to callers without a key, except for aliases; a wrong key is still rejected', async () => {
    const open = await call('POST', '/api/v1/links', { key: undefined, body: { longUrl: 'https://e.com/' } });
    expect(open.status).toBe(201);
    const alias = { longUrl: 'https://e.com/', customAlias: 'anonymous-alias' };
    expectProblem(await call('POST', '/api/v1/links', { key: undefined, body: alias }), 401, 'unauthorized');
    expectProblem(await call('POST', '/api/v1/links', { key: 'wrong', body: alias }), 401, 'unauthorized');
  });

  test('rejects an expiry that is not in the future, even by a millisecond', async () => {
    const expiring = (atMs: number) =>
      call('POST', '/api/v1/links', {
        body: { longUrl: 'https://e.com/', expiresAt: new Date(atMs).toISOString() },
      });
    expectProblem(await expiring(clock.now() - 1), 400, 'invalid_expiry');
    expectProblem(await expiring(clock.now()), 400, 'invalid_expiry');
    expect((await expiring(clock.now() + 1)).status).toBe(201);
  });

  test('reads an expiry with any zone and answers in UTC', async () => {
    expect(await create({ expiresAt: '2026-07-01T02:00:00+02:00' })).toMatchObject({
      expiresAt: '2026-07-01T00:00:00.000Z',
    });
  });
});

describe('findExisting', () => {
  test('returns the live link to the same normalised URL with 200, and only when asked', async () => {
    const { shortCode } = await create({ longUrl: 'https://example.com/found' });
    const again = (fields: object) =>
      call('POST', '/api/v1/links', { body: { longUrl: 'HTTPS://Example.com:443/x/../found', ...fields } });
    expect(await again({ findExisting: true })).toMatchObject({ status: 200, body: { shortCode } });
    const other = await again({});
    expect(other.status).toBe(201);
    expect(other.body.shortCode).not.toBe(shortCode);
  });

  test.each([
    ['disabled', (code: string) => call('PATCH', `/api/v1/links/${code}`, { body: { status: 'disabled' } })],
    ['deleted', (code: string) => call('DELETE', `/api/v1/links/${code}`)],
    ['expired', async () => passMs(3_600_000)],
  ])('never returns a link that is %s', async (state, end) => {
    const body = { longUrl: `https://example.com/was-${state}`, findExisting: true };
    const first = await call('POST', '/api/v1/links', { body: { ...body, expiresAt: anHourFromNow() } });
    await end(first.body.shortCode);
    const second = await call('POST', '/api/v1/links', { body });
    expect(second.status).toBe(201);
    expect(second.body.shortCode).not.toBe(first.body.shortCode);
  });

  test('never returns the link of another account', async () => {
    const body = { longUrl: 'https://example.com/mine-alone', findExisting: true };
    for (const key of [undefined, strangerKey]) {
      expect(await call('POST', '/api/v1/links', { key, body })).toMatchObject({ status: 201 });
    }
    expect(await call('POST', '/api/v1/links', { body })).toMatchObject({ status: 201 });
  });
});

describe('editing', () => {
  test('PATCH changes what it names, keeps the rest, and counts from the next visit on', async () => {
    const before = await create({ title: 'kept', tags: ['kept'], maxClicks: 9 });
    expect((await visit(before.shortCode)).headers.get('location')).toBe(before.longUrl);
    passMs(1_000);
    const change = { longUrl: 'https://example.com/moved', redirectType: 307, expiresAt: anHourFromNow() };
    const answer = await call('PATCH', `/api/v1/links/${before.shortCode}`, { body: change });
    expect(answer.status).toBe(200);
    const after = { ...before, ...change, updatedAt: new Date(clock.now()).toISOString() };
    expect(answer.body).toEqual({ ...after, usedClicks: 1 });
    const visited = await visit(before.shortCode);
    expect(visited.status).toBe(307);
    expect(visited.headers.get('location')).toBe('https://example.com/moved');
    const read = await call('GET', `/api/v1/links/${before.shortCode}`);
    expect(read.body).toEqual({ ...after, usedClicks: 2 });
  });

  test('null removes an expiry, a title and a limit; an empty list removes the tags', async () => {
    const { shortCode } = await create({
      expiresAt: anHourFromNow(),
      title: 'soon gone',
      tags: ['gone'],
      maxClicks: 5,
    });
    const body = { expiresAt: null, title: null, maxClicks: null, tags: [] };
    const answer = await call('PATCH', `/api/v1/links/${shortCode}`, { body });
    expect(answer).toMatchObject({ status: 200, body });
    passMs(7_200_000);
    expect(await visit(shortCode)).toMatchObject({ status: 302 });
    expect((await call('GET', '/api/v1/links?tag=gone')).body.links).toEqual([]);
  });

  test('PUT replaces the link: fields that it leaves out return to their defaults', async () => {
    const { shortCode, createdAt } = await create({
      customAlias: 'replaced',
      expiresAt: anHourFromNow(),
      title: 't',
      tags: ['t'],
      redirectType: 301,
      forwardQuery: true,
      maxClicks: 3,
    });
    await call('PATCH', `/api/v1/links/${shortCode}`, { body: { status: 'disabled' } });
    const answer = await call('PUT', `/api/v1/links/${shortCode}`, {
      body: { longUrl: 'https://e.com/new' },
    });
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ ...defaults, longUrl: 'https://e.com/new', createdAt, custom: true });
  });

  test('disabling and enabling take effect with the answer', async () => {
    const { shortCode } = await create();
    for (const [status, visited] of [
      ['disabled', 410],
      ['active', 302],
      ['disabled', 410],
    ] as const) {
      const answer = await call('PATCH', `/api/v1/links/${shortCode}`, { body: { status } });
      expect(answer.body.status).toBe(status);
      expect(await visit(shortCode)).toMatchObject({ status: visited });
    }
  });

  test('no concurrent edit is lost', async () => {
    const { shortCode } = await create();
    const fields = [{ title: 'one' }, { tags: ['two'] }, { redirectType: 301 }, { maxClicks: 4 }];
    const answers = await Promise.all(
      fields.map(body => call('PATCH', `/api/v1/links/${shortCode}`, { body })),
    );
    expect(answers.map(answer => answer.status)).toEqual([200, 200, 200, 200]);
    const { body } = await call('GET', `/api/v1/links/${shortCode}`);
    expect(body).toMatchObject(Object.assign({}, ...fields));
  });

  test('rejects what creating rejects, and an empty edit', async () => {
    const { shortCode } = await create();
    const before = storedRows(terse.dataFolder);
    const path = `/api/v1/links/${shortCode}`;
    for (const method of ['PATCH', 'PUT']) {
      const longUrl = 'https://e.com/';
      const edit = (body: unknown) => call(method, path, { body });
      expectProblem(await edit({ longUrl: 'javascript:alert(1)' }), 400, 'invalid_url');
      expectProblem(await edit({ longUrl, expiresAt: '2020-01-01T00:00:00Z' }), 400, 'invalid_expiry');
      expectProblem(await edit({ longUrl, customAlias: 'renamed' }), 400, 'invalid_request');
      expectProblem(await edit({ longUrl, status: 'deleted' }), 400, 'invalid_request');
      expectProblem(await edit({}), 400, 'invalid_request');
    }
    expect(storedRows(terse.dataFolder)).toEqual(before);
  });
});

describe('deleting', () => {
  test.each(['generated', 'deleted-alias'])(
    'a %s code answers 410 from then on and is never issued again',
    async kind => {
      const { shortCode } = await create(kind === 'generated' ? {} : { customAlias: kind });
      const path = `/api/v1/links/${shortCode}`;
      expect(await call('DELETE', path)).toMatchObject({ status: 204, body: '' });
      expect(await visit(shortCode)).toMatchObject({ status: 410 });
      expectProblem(await call('GET', path), 410, 'link_deleted');
      expectProblem(await call('PATCH', path, { body: { status: 'active' } }), 410, 'link_deleted');
      expectProblem(await call('PUT', path, { body: { longUrl: 'https://e.com/' } }), 410, 'link_deleted');
      expectProblem(await call('DELETE', path), 410, 'link_deleted');
      const reclaim = { longUrl: 'https://e.com/', customAlias: shortCode };
      expectProblem(await call('POST', '/api/v1/links', { body: reclaim }), 409, 'alias_taken');
    },
  );

  test('erases the destination', async () => {
    const { shortCode } = await create({ longUrl: 'https://example.com/private', title: 'p', tags: ['p'] });
    await call('DELETE', `/api/v1/links/${shortCode}`);
    const { links: rows, tags } = storedRows(terse.dataFolder);
    expect(rows.find(row => row.code === shortCode)).toMatchObject({ long_url: '', title: null, tags: null });
    expect(tags.filter(row => row.tag === 'p')).toEqual([]);
  });
});
