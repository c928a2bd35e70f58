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

test('searches code, title and URL without minding case, and takes wildcards as they are', async () => {
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
  'limit=101',
  'limit=ten',
  'limit=1&limit=2',
  'sort=title',
  'status=deleted',
  'cursor=!',
  'page=2',
  'search=',
])('refuses ?%s', async query => {
  expectProblem(await call('GET', `/api/v1/links?${query}`), 400, 'invalid_request');
});
