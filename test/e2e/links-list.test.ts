/** Finding one's links again: pages, order, search, filters. */
import { afterAll, expect, test } from 'bun:test';
import { ManualClock } from '../../src/base/clock.ts';
import { callerOf } from '../kit/client.ts';
import { expectProblem } from '../kit/expect-problem.ts';
import { addAccount } from '../kit/stored-rows.ts';
import { startTerseHere } from '../kit/terse-here.ts';
import { browser } from '../kit/visitors.ts';

const clock = new ManualClock();
const terse = await startTerseHere({ clock });
afterAll(() => terse.stop());
const call = callerOf(terse.url);
const strangerKey = addAccount(terse.dataFolder, 'stranger');

const create = async (fields: Record<string, unknown> = {}) =>
  (await call('POST', '/api/v1/links', { body: { longUrl: 'https://example.com/', ...fields } })).body;

const listed = async (query: string, key?: string) => {
  const answer = await call('GET', `/api/v1/links?${query}`, key === undefined ? {} : { key });
  expect(answer.status).toBe(200);
  return answer.body;
};
const codesOf = (page: { links: { shortCode: string }[] }) => page.links.map(link => link.shortCode);

test('goes through all links by cursor, newest or oldest first, each exactly once', async () => {
  const made: string[] = [];
  for (let count = 0; count < 7; count += 1) made.push((await create({ tags: ['paged'] })).shortCode);
  for (const [sort, expected] of [
    ['createdAt', made],
    ['-createdAt', made.toReversed()],
  ] as const) {
    const seen: string[] = [];
    const sizes: number[] = [];
    for (let cursor = ''; ; ) {
      const page = await listed(`tag=paged&limit=3&sort=${sort}${cursor}`);
      seen.push(...codesOf(page));
      sizes.push(page.links.length);
      if (page.nextCursor === null) break;
      cursor = `&cursor=${encodeURIComponent(page.nextCursor)}`;
    }
    expect(seen).toEqual([...expected]);
    expect(sizes).toEqual([3, 3, 1]);
  }
});

test('searches code, title and URL case-insensitively, and takes wildcards literally', async () => {
  const byCode = await create({ customAlias: 'Needle-Code' });
  const byTitle = await create({ title: 'a NEEDLE in hay' });
  const byUrl = await create({ longUrl: 'https://example.com/needle?x=100%25' });
  expect(codesOf(await listed('search=nEEdle')).toSorted()).toEqual(
    [byCode, byTitle, byUrl].map(link => link.shortCode).toSorted(),
  );
  expect(codesOf(await listed('search=100%25'))).toEqual([byUrl.shortCode]);
  expect(codesOf(await listed('search=n_edle'))).toEqual([]);
});

test('filters by tag and by the state a link is in now', async () => {
  const tags = ['states'];
  const codes = {
    active: (await create({ tags })).shortCode,
    disabled: (await create({ tags })).shortCode,
    expired: (await create({ tags, expiresAt: new Date(clock.now() + 3_600_000).toISOString() })).shortCode,
    exhausted: (await create({ tags, maxClicks: 1 })).shortCode,
  };
  await call('PATCH', `/api/v1/links/${codes.disabled}`, { body: { status: 'disabled' } });
  await call('GET', `/${codes.exhausted}`, { key: undefined, headers: browser });
  clock.set(clock.now() + 3_600_000);
  for (const [status, code] of Object.entries(codes)) {
    const page = await listed(`tag=states&status=${status}`);
    expect(page).toMatchObject({ links: [{ shortCode: code, status }], nextCursor: null });
  }
  expect(codesOf(await listed('tag=states')).toSorted()).toEqual(Object.values(codes).toSorted());
  expect(codesOf(await listed('tag=State'))).toEqual([]);
});

test('filters by the host a link leads to, however it is written, and by what lies below it', async () => {
  const tags = ['hosts'];
  const exact = await create({ tags, longUrl: 'https://Bücher.example/a' });
  const below = await create({ tags, longUrl: 'http://www.xn--bcher-kva.example:8080/' });
  await create({ tags, longUrl: 'https://other.example/?to=https://xn--bcher-kva.example/' });
  for (const host of ['bücher.example', 'BÜCHER.example.', 'xn--bcher-kva.example'])
    expect(codesOf(await listed(`tag=hosts&destinationDomain=${encodeURIComponent(host)}`))).toEqual([
      below.shortCode,
      exact.shortCode,
    ]);
  expect(codesOf(await listed('destinationDomain=www.xn--bcher-kva.example'))).toEqual([below.shortCode]);
});

test('finds the links to exactly one destination, compared as it is stored, in any state', async () => {
  const active = await create({ longUrl: 'HTTPS://exact.example:443/a b' });
  const disabled = await create({ longUrl: 'https://exact.example/a%20b' });
  await create({ longUrl: 'https://exact.example/a%20b?c' });
  await call('PATCH', `/api/v1/links/${disabled.shortCode}`, { body: { status: 'disabled' } });
  const query = `longUrl=${encodeURIComponent('https://EXACT.example/a b')}`;
  expect(codesOf(await listed(query))).toEqual([disabled.shortCode, active.shortCode]);
  expect(codesOf(await listed(`${query}&status=active`))).toEqual([active.shortCode]);
});

test('filters by the time of creation, from its beginning to before its end', async () => {
  const tags = ['dated'];
  const made: { shortCode: string; createdAt: string }[] = [];
  for (let day = 0; day < 4; day += 1) {
    made.push(await create({ tags }));
    clock.set(clock.now() + 3 * 24 * 3_600_000);
  }
  const [, second, third, fourth] = made;
  const from = encodeURIComponent(second!.createdAt);
  const to = encodeURIComponent(fourth!.createdAt);
  const expected = [third!.shortCode, second!.shortCode];
  expect(codesOf(await listed(`tag=dated&createdFrom=${from}&createdTo=${to}`))).toEqual(expected);
  expect(codesOf(await listed(`createdFrom=${from}&createdTo=${to}&sort=createdAt`))).toEqual(
    expected.toReversed(),
  );
});

test('counts all matching links, on every page, if requested', async () => {
  const key = addAccount(terse.dataFolder, 'counter');
  const links = Array.from({ length: 1_203 }, (_, n) => ({
    longUrl: 'https://example.com/',
    ...(n % 2 === 0 && { tags: ['even'] }),
  }));
  await call('POST', '/api/v1/links/bulk', { key, body: { links } });
  const first = await listed('limit=1000&total=true', key);
  expect([first.links.length, first.total]).toEqual([1_000, 1_203]);
  const second = await listed(`limit=1000&total=true&cursor=${first.nextCursor}`, key);
  expect([second.links.length, second.nextCursor, second.total]).toEqual([203, null, 1_203]);
  expect(new Set([...codesOf(first), ...codesOf(second)]).size).toBe(1_203);
  expect((await listed('limit=1&tag=even&total=true', key)).total).toBe(602);
  expect((await listed('limit=1&tag=even&sort=-clicks&total=true', key)).total).toBe(602);
  expect(await listed('limit=1', key)).not.toHaveProperty('total');
});

test("shows the caller's own links only, and no deleted ones", async () => {
  const mine = await create({ tags: ['own'] });
  const deleted = await create({ tags: ['own'] });
  await call('DELETE', `/api/v1/links/${deleted.shortCode}`);
  await call('POST', '/api/v1/links', { key: undefined, body: { longUrl: 'https://e.com/', tags: ['own'] } });
  expect(codesOf(await listed('tag=own'))).toEqual([mine.shortCode]);
  expect(await listed('tag=own', strangerKey)).toEqual({ links: [], nextCursor: null });
  expectProblem(await call('GET', '/api/v1/links', { key: undefined }), 401, 'unauthorized');
});

test.each([
  'limit=0',
  '?limit=1',
  'limit=1001',
  'limit=ten',
  'limit=1&limit=2',
  'sort=title',
  'status=deleted',
  'cursor=!',
  'page=2',
  'search=',
  'destinationDomain=',
  'destinationDomain=https%3A%2F%2Fexample.com',
  'destinationDomain=a%20b',
  'longUrl=example.com',
  'createdFrom=yesterday',
  'createdTo=2026-02-30T00%3A00%3A00Z',
  'total=yes',
])('rejects ?%s', async query => {
  expectProblem(await call('GET', `/api/v1/links?${query}`), 400, 'invalid_request');
});
