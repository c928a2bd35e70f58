import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { fakeActor } from '../accounts/fake-actors.ts';
import { ManualClock } from '../base/clock.ts';
import type { LinkContext } from './context.ts';
import type { Link } from './link.ts';
import { type ClicksQuery, listByClicks, type RankedLink, type RankLinks } from './read.ts';
import type { LinkStore } from './store.ts';
import { insertItem, listQuery, sampleLink } from './store-samples.ts';
import { createMemoryStore } from './stores/memory.ts';

const owner = fakeActor('acc_1');

const contextOf = (store: LinkStore): LinkContext =>
  ({ clock: new ManualClock(), store }) as unknown as LinkContext;

async function contextWith(links: readonly Link[]): Promise<LinkContext> {
  const store = createMemoryStore();
  await store.insert(links.map(link => insertItem(link)));
  return contextOf(store);
}

const byClicks = (a: RankedLink, b: RankedLink): number =>
  a.clicks - b.clicks || (a.code === b.code ? 0 : a.code < b.code ? -1 : 1);

/** A warehouse that has counted these clicks. */
const rankingOf =
  (followed: readonly RankedLink[]): RankLinks =>
  async ({ order, after, limit, codes }) => {
    const ordered = followed.toSorted(order === 'most' ? (a, b) => byClicks(b, a) : byClicks);
    return ordered
      .filter(({ code }) => codes?.includes(code) ?? true)
      .filter(each => after === undefined || byClicks(each, after) * (order === 'most' ? -1 : 1) > 0)
      .slice(0, limit);
  };

async function everyPage(context: LinkContext, rank: RankLinks, query: Partial<ClicksQuery>) {
  const codes: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await listByClicks(context, owner, rank, {
      limit: 10,
      order: 'most',
      ...query,
      cursor,
    });
    expect(page.links.length).toBeLessThanOrEqual(query.limit ?? 10);
    codes.push(...page.links.map(({ code }) => code));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return codes;
}

test('every link that matches a filter is listed once, by its clicks, whatever the page size', async () => {
  const sample = fc.record({
    clicks: fc.nat(3),
    tagged: fc.boolean(),
    status: fc.constantFrom('active', 'active', 'disabled', 'deleted'),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(sample, { maxLength: 30 }),
      fc.integer({ min: 1, max: 12 }),
      fc.constantFrom('most', 'least'),
      fc.boolean(),
      async (samples, limit, order, isFiltered) => {
        const links = samples.map(({ tagged, status }, n) =>
          sampleLink(`c${n}`, { tags: tagged ? ['x'] : [], status }),
        );
        const followed = samples
          .map(({ clicks }, n) => ({ code: `c${n}`, clicks }))
          .filter(({ clicks }) => clicks > 0);
        const wanted = new Set(
          links
            .filter(({ status, tags }) => status !== 'deleted' && (!isFiltered || tags.includes('x')))
            .map(({ code }) => code),
        );
        const ranked = followed.toSorted((a, b) => byClicks(b, a)).map(({ code }) => code);
        const others = links.map(({ code }) => code).filter(code => !ranked.includes(code));
        const parts =
          order === 'most' ? [...ranked, ...others.reverse()] : [...others.reverse(), ...ranked.reverse()];
        const context = await contextWith(links);
        const filter = isFiltered ? { tag: 'x' } : {};
        expect(await everyPage(context, rankingOf(followed), { limit, order, ...filter })).toEqual(
          parts.filter(code => wanted.has(code)),
        );
      },
    ),
    { numRuns: 300 },
  );
});

test('links of other owners that the warehouse names are not listed', async () => {
  const context = await contextWith([sampleLink('own'), sampleLink('foreign', { ownerId: 'acc_2' })]);
  const rank = rankingOf([
    { code: 'foreign', clicks: 9 },
    { code: 'own', clicks: 1 },
    { code: 'purged', clicks: 5 },
  ]);
  expect(await everyPage(context, rank, {})).toEqual(['own']);
});

test('a page that finds nothing returns a cursor after a bounded number of queries', async () => {
  let questions = 0;
  const endless: RankLinks = async ({ after, limit }) => {
    questions += 1;
    const first = after === undefined ? 1e9 : after.clicks - 1;
    return Array.from({ length: limit }, (_, n) => ({ code: 'gone', clicks: first - n }));
  };
  const context = await contextWith([]);
  const page = await listByClicks(context, owner, endless, { ...listQuery(), order: 'most' });
  expect(page.links).toEqual([]);
  expect(page.nextCursor).toStartWith('f.');
  expect(questions).toBeLessThanOrEqual(80);
});

test.each(['x', 'f.0.abc', 'f.1', 'f.1.', 'f.1.a b', 'f.1e3.abc', 'f.-1.abc', 'o.!', '1a'])(
  'refuses the cursor %p',
  async cursor => {
    const context = await contextWith([sampleLink('a')]);
    const listed = async () =>
      listByClicks(context, owner, rankingOf([]), { ...listQuery(), order: 'most', cursor });
    await expect(listed()).rejects.toThrow('cursor');
  },
);
