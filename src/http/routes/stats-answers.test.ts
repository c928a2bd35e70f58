import { describe, expect, test } from 'bun:test';
import { anonymous } from '../../accounts/account.ts';
import { fakeActor } from '../../accounts/fake-actors.ts';
import type { SampleClick } from '../../clicks/batch-samples.ts';
import { breakdownAnswer, statsAnswer } from '../stats-schemas.ts';
import { countedReports, now, problemOf, routeWith, send, singlesFrom } from './fake-stats-routes.ts';

const dayMs = 24 * 60 * 60_000;

describe('the answer', () => {
  const clicks: SampleClick[] = [
    { at: now - dayMs, code: 'a', ownerId: 'owner of a', device: 'mobile', visitor: 1, utmSource: 'news' },
    { at: now - 1_000, code: 'a', ownerId: 'owner of a', device: 'mobile', visitor: 1, city: 'Berlin' },
    { at: now - 1_000, code: 'a', ownerId: 'owner of a', device: 'desktop', visitor: 2, kind: 'bot' },
    { at: now - 40 * dayMs, code: 'a', ownerId: 'owner of a', device: 'tv', visitor: 3 },
    { at: now, code: 'a', ownerId: 'somebody else' },
  ];
  const route = routeWith('readLinkStats', now, countedReports(clicks));

  test('is what the schema says, with and without filters and comparison', async () => {
    for (const text of ['', 'country=DE&compare=previous', 'utm_source=!news&compare=year']) {
      statsAnswer.parse(await (await send(route, text)).json());
    }
  });

  test('has the filters, what it was read from, and the comparison', async () => {
    const { series, comparison, ...stats } = statsAnswer.parse(
      await (await send(route, 'device=mobile,tv&utmSource=!news&compare=previous')).json(),
    );
    expect(stats).toMatchObject({
      totalClicks: 3,
      botClicks: 1,
      clicks24h: 1,
      uniqueVisitors: 1,
      range: { clicks: 1, botClicks: 0, suspiciousClicks: 0, visitors: 1 },
      filters: {
        device: { values: ['mobile', 'tv'], excluded: false },
        utmSource: { values: ['news'], excluded: true },
      },
      source: 'clicks',
      coveredFrom: new Date(singlesFrom).toISOString(),
      listsByDayUntil: null,
      devices: [{ value: 'mobile', clicks: 1 }],
      topCities: [{ value: 'Berlin', clicks: 1 }],
      topLinks: [],
      bots: [],
      lastUpdatedAt: new Date(now - 1_000).toISOString(),
    });
    expect(series).toHaveLength(30);
    expect(comparison).toMatchObject({ to: stats.from, clicks: 1, botClicks: 0, visitors: 1 });
    expect(comparison?.series).toHaveLength(30);
  });

  test('has a list for every dimension, and no comparison by default', async () => {
    const stats = statsAnswer.parse(await (await send(route, '')).json());
    expect(stats).toMatchObject({ source: 'aggregates', coveredFrom: null, comparison: null, filters: {} });
    expect(stats.utmSources).toEqual([
      { value: '', clicks: 1 },
      { value: 'news', clicks: 1 },
    ]);
    expect(stats.bots).toEqual([{ value: 'bot', clicks: 1 }]);
  });
});

describe('all values of a dimension', () => {
  const clicks: SampleClick[] = Array.from({ length: 250 }, (_, n) => ({
    at: now - n,
    code: 'a',
    ownerId: 'owner of a',
    city: `City ${String(n).padStart(3, '0')}`,
    referrerUrl: 'https://example.com/',
  }));
  const route = routeWith('readLinkBreakdown', now, countedReports(clicks));
  const read = async (text: string, dimension = 'city') =>
    breakdownAnswer.parse(await (await send(route, text, { dimension })).json());

  test('come in pages that are chained by their cursors', async () => {
    const found: string[] = [];
    const lengths: number[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const page: Awaited<ReturnType<typeof read>> = await read(cursor === '' ? '' : `cursor=${cursor}`);
      expect(page.total).toBe(250);
      lengths.push(page.values.length);
      found.push(...page.values.map(({ value }) => value));
      cursor = page.nextCursor;
    }
    expect(lengths).toEqual([100, 100, 50]);
    expect(found).toEqual(clicks.map(({ city }) => city!));
  });

  test('can be searched and filtered, and say of which range they are', async () => {
    const page = await read('search=city%2010&limit=3&country=DE&interval=hour&from=2026-06-03T08:00Z');
    expect(page).toMatchObject({
      from: '2026-06-03T08:00:00.000Z',
      to: '2026-06-03T11:00:00.000Z',
      filters: { country: { values: ['DE'], excluded: false } },
      values: ['City 100', 'City 101', 'City 102'].map(value => ({ value, clicks: 1 })),
      total: 10,
      nextCursor: '3',
      source: 'clicks',
    });
    expect(await read('country=FR')).toMatchObject({ values: [], total: 0, nextCursor: null });
  });

  test('do not show strangers from which pages people came, and are not filtered for them', async () => {
    const route = routeWith('readLinkBreakdown', now, countedReports(clicks));
    const whole = routeWith('readLinkStats', now, countedReports(clicks));
    const asStranger = (query: string, dimension = 'country') => send(route, query, { dimension }, anonymous);
    expect(await problemOf(asStranger('', 'referrerUrl'))).toMatchObject({ code: 'not_found' });
    expect(await problemOf(asStranger('country=DE'))).toMatchObject({ code: 'not_found' });
    expect(await problemOf(send(whole, 'country=DE', {}, anonymous))).toMatchObject({ code: 'not_found' });
    expect((await asStranger('')).status).toBe(200);
    const shown = async (actor?: typeof anonymous) =>
      (await (await send(whole, '', {}, actor)).json()) as {
        topReferrerUrls: unknown[];
        topReferrers: unknown[];
      };
    expect((await shown(anonymous)).topReferrerUrls).toEqual([]);
    expect((await shown()).topReferrerUrls).not.toEqual([]);
    expect((await shown(anonymous)).topReferrers).toEqual((await shown()).topReferrers);
  });

  test('have the name of the dimension in either spelling', async () => {
    for (const dimension of ['referrerUrl', 'referrer_url'])
      expect((await read('', dimension)).values).toEqual([{ value: 'https://example.com/', clicks: 250 }]);
  });

  test.each(['cursor=x', 'cursor=-1', 'cursor=0', 'cursor=1e3', 'cursor='])('?%s is rejected', async text => {
    expect(await problemOf(read(text))).toMatchObject({
      code: 'invalid_request',
      fields: { field: 'cursor' },
    });
  });

  test.each([
    ['contry', '“contry” is not a dimension of these statistics; did you mean “country”?'],
    ['link', '“link” is not a dimension of these statistics.'],
    ['constructor', '“constructor” is not a dimension of these statistics.'],
  ])('of %s are not found', async (dimension, detail) => {
    expect(await problemOf(read('', dimension))).toMatchObject({ code: 'not_found', detail });
  });

  test('of links are for accounts and tags, under a filter too', async () => {
    const own = [
      { at: now, code: 'x', country: 'DE' },
      { at: now, code: 'y', country: 'FR' },
      { at: now, code: 'y', country: 'FR' },
    ];
    const ofAccount = routeWith('readBreakdown', now, countedReports(own));
    const top = async (text: string) =>
      breakdownAnswer.parse(
        await (await send(ofAccount, text, { dimension: 'link' }, fakeActor('acc_1'))).json(),
      ).values;
    expect(await top('')).toEqual([
      { value: 'y', clicks: 2 },
      { value: 'x', clicks: 1 },
    ]);
    expect(await top('country=DE')).toEqual([{ value: 'x', clicks: 1 }]);
    expect(await top('link=x,z')).toEqual([{ value: 'x', clicks: 1 }]);
    expect(await problemOf(top('codes=x,y'))).toMatchObject({
      code: 'invalid_request',
      fields: { field: 'codes' },
    });
  });
});
