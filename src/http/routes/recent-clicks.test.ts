import { expect, test } from 'bun:test';
import { ManualClock } from '../../base/clock.ts';
import { type SampleClick, samplesStart } from '../../clicks/batch-samples.ts';
import { Truth } from '../../clicks/fake-warehouse-truth.ts';
import type { RecentQuestion } from '../../clicks/warehouse.ts';
import type { LinkContext } from '../../links/context.ts';
import { sampleLink } from '../../links/store-samples.ts';
import type { Route } from '../route.ts';
import { problemOf, send } from './fake-stats-routes.ts';
import { recentClickRoutes } from './recent-clicks.ts';

/** The owner of the link `a`, as the caller is. */
const ownerId = 'owner of a';
const clicks: SampleClick[] = Array.from({ length: 23 }, (_, n) => ({
  at: samplesStart + Math.floor(n / 5),
  code: n % 4 === 3 ? 'b' : 'a',
  ownerId,
  browser: `Browser ${n % 6}`,
  kind: n % 9 === 8 ? ('bot' as const) : ('human' as const),
}));

function routeNamed(name: string, coveredFrom = 0): { route: Route; asked: RecentQuestion[] } {
  const truth = new Truth(clicks);
  const asked: RecentQuestion[] = [];
  const links = {
    clock: new ManualClock(samplesStart + 60_000),
    store: { find: async (code: string) => sampleLink(code, { ownerId }) },
  } as unknown as LinkContext;
  const reports = {
    recent: async (question: RecentQuestion) => {
      asked.push(question);
      return { clicks: truth.recent(question), coveredFrom };
    },
  };
  return { route: recentClickRoutes({ links, reports }).find(each => each.name === name)!, asked };
}

async function pagesOf(name: string, query: string) {
  const { route, asked } = routeNamed(name);
  const all: { shortCode: string; at: string; kind: string; browser: string }[] = [];
  let cursor: string | null = '';
  while (cursor !== null && asked.length <= clicks.length) {
    const answer = await send(route, `${query}${cursor === '' ? '' : `&cursor=${cursor}`}`);
    const body = (await answer.json()) as { clicks: typeof all; nextCursor: string | null };
    all.push(...body.clicks);
    cursor = body.nextCursor;
  }
  return { all, pages: asked.length };
}

test.each([1, 3, 4, 22, 23, 200])('pages of %p show every click once, newest first', async limit => {
  const { all, pages } = await pagesOf('readRecentClicks', `limit=${limit}`);
  expect(pages).toBe(Math.ceil(clicks.length / limit));
  expect(all.map(({ at }) => Date.parse(at))).toEqual(clicks.map(({ at }) => at).reverse());
  const keys = (each: readonly object[]) => each.map(click => JSON.stringify(click)).sort();
  const whole = await pagesOf('readRecentClicks', 'limit=200');
  expect(keys(all)).toEqual(keys(whole.all));
});

test('filters and the range are those of statistics', async () => {
  const { all } = await pagesOf('readRecentLinkClicks', 'limit=5&browser=Browser 1,Browser 2&bot=');
  expect(new Set(all.map(({ shortCode, kind }) => `${shortCode} ${kind}`))).toEqual(new Set(['a human']));
  expect(new Set(all.map(({ browser }) => browser))).toEqual(new Set(['Browser 1', 'Browser 2']));
  const { route, asked } = routeNamed('readRecentClicks');
  await send(route, 'from=2026-06-01T12:00:00.001Z&to=2026-06-01T12:00:00.003Z&tag=t');
  expect(asked[0]).toMatchObject({
    from: samplesStart + 1,
    to: samplesStart + 3,
    scopes: [{ kind: 'tag', ownerId, tag: 't' }],
  });
});

test('an answer says since when single clicks are kept, if that is within its range', async () => {
  const { route } = routeNamed('readRecentClicks', samplesStart);
  expect(await (await send(route, '')).json()).toMatchObject({ coveredFrom: '2026-06-01T12:00:00.000Z' });
  expect(await (await send(routeNamed('readRecentClicks').route, '')).json()).toMatchObject({
    coveredFrom: null,
  });
});

test.each(['cursor=next', 'cursor=5', 'cursor=1-12345', 'from=2026-06-02&to=2026-06-01'])(
  'rejects %p',
  async query => {
    const { code } = await problemOf(send(routeNamed('readRecentClicks').route, query));
    expect(['invalid_request', 'invalid_cursor']).toContain(code);
  },
);

test('a longer range costs more', () => {
  const { route } = routeNamed('readRecentClicks');
  const cost = (days: number | undefined): number =>
    route.limitCost!({
      query: days === undefined ? {} : { from: samplesStart - days * 86_400_000, to: samplesStart },
      body: undefined,
    });
  expect(cost(3_650)).toBeGreaterThan(10 * cost(undefined));
  expect(cost(30)).toBe(cost(undefined));
});
