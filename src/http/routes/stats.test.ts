import { describe, expect, spyOn, test } from 'bun:test';
import { yieldToEventLoop } from '../../base/clock.ts';
import { Problem } from '../../base/errors.ts';
import { bucketStarts, type Interval, startOf } from '../../base/zone.ts';
import { dimensions } from '../../clicks/dimensions.ts';
import { type StatsQuery, seriesBucketsMax } from '../../clicks/stats.ts';
import type { Filter } from '../../clicks/warehouse.ts';
import { ask, noStats, problemOf, queryOf, routeWith } from './fake-stats-routes.ts';

const dayMs = 24 * 60 * 60_000;

/** Calls the route and returns the queries that it sent to the stats thread. */
async function asked(
  from: number | undefined,
  to: number | undefined,
  interval: Interval,
  timeZone: string,
  now = to ?? 0,
): Promise<StatsQuery> {
  const queries: StatsQuery[] = [];
  const route = routeWith('readLinkStats', now, {
    async stats(query) {
      queries.push(query);
      return noStats;
    },
  });
  await ask(route, { from, to, interval, timeZone });
  return queries[0]!;
}

const monthOfDays = { interval: 'day', timeZone: 'UTC' };

test('the same numbers are computed once for all who ask for them together', async () => {
  const answers: PromiseWithResolvers<unknown>[] = [];
  const route = routeWith('readLinkStats', Date.UTC(2026, 5, 1), {
    stats() {
      const answer = Promise.withResolvers<unknown>();
      answers.push(answer);
      return answer.promise;
    },
  });
  const hundred = () => Array.from({ length: 100 }, () => ask(route, monthOfDays));
  const waiting = hundred();
  const other = ask(route, { ...monthOfDays, timeZone: 'Asia/Tokyo' });
  for (let turn = 0; turn < 2; turn += 1) await yieldToEventLoop();
  expect(answers).toHaveLength(2);
  waiting.push(...hundred());
  await yieldToEventLoop();
  for (const { resolve } of answers) resolve(noStats);
  await Promise.all([waiting[0], other]);
  expect(answers).toHaveLength(3);
  answers[2]!.resolve(noStats);
  for (const response of await Promise.all(waiting)) expect(response.status).toBe(200);
  expect(answers).toHaveLength(3);
});

test('numbers cost the more the more buckets and links they are made of', () => {
  const now = Date.UTC(2026, 5, 1);
  const costOf = (query: object): number =>
    routeWith('readStats', now).limitCost!({ query, body: undefined });
  const codes = (count: number): string[] => Array.from({ length: count }, (_, n) => `code${n}`);
  expect(costOf(monthOfDays)).toBe(1);
  expect(costOf({ interval: 'minute', timeZone: 'UTC' })).toBe(6);
  expect(costOf({ ...monthOfDays, codes: codes(100) })).toBe(12);
  const quarterOfHours = { interval: 'hour', timeZone: 'UTC', from: now - 90 * dayMs };
  expect(costOf(quarterOfHours)).toBe(9);
  expect(() => costOf({ ...quarterOfHours, codes: codes(10) })).toThrow(Problem);
  expect(costOf({ ...quarterOfHours, compare: 'previous' })).toBe(18);
  const filter = { values: ['DE'], isExcluded: false };
  expect(costOf({ ...monthOfDays, country: filter })).toBe(5);
  expect(costOf({ ...monthOfDays, country: filter, device: filter })).toBe(5);
  const pageCostOf = (query: object): number =>
    routeWith('readBreakdown', now).limitCost!({ query: { ...monthOfDays, ...query }, body: undefined });
  expect(pageCostOf({ limit: 100 })).toBe(1);
  expect(pageCostOf({ limit: 1_000 })).toBe(4);
  expect(pageCostOf({ limit: 100, country: filter })).toBe(5);
});

test('a question over many buckets costs the thread of the requests only a few looks at the clock', async () => {
  const looks = spyOn(Intl.DateTimeFormat.prototype, 'formatToParts');
  try {
    const to = Date.UTC(2026, 5, 1);
    await asked(to - 2_000 * dayMs, to, 'day', 'Europe/Berlin');
    expect(looks.mock.calls.length).toBeLessThan(20);
  } finally {
    looks.mockRestore();
  }
});

test('whatever range passes here has few enough buckets for the thread that makes them', async () => {
  for (const timeZone of ['UTC', 'Europe/Berlin', 'Asia/Kathmandu', 'Australia/Lord_Howe', 'Pacific/Apia']) {
    for (const [interval, bucketMs] of [
      ['minute', 60_000],
      ['hour', 3_600_000],
      ['day', dayMs],
    ] as const) {
      for (const startedMs of [Date.UTC(1997, 0, 1), Date.UTC(1998, 6, 3, 12, 34, 30, 500)]) {
        for (const extra of [-2, -1, -0.5, 0, 0.5, 1]) {
          const to = startedMs + Math.round((seriesBucketsMax + extra) * bucketMs);
          const query = await asked(startedMs, to, interval, timeZone).catch(
            (error: unknown) => error as Problem,
          );
          if (query instanceof Problem) expect(query).toMatchObject({ code: 'invalid_request' });
          else {
            const starts = bucketStarts(query.from, query.to, interval, timeZone, seriesBucketsMax);
            expect(starts.length).toBeLessThanOrEqual(seriesBucketsMax);
          }
          if (extra === -2) expect(query).not.toBeInstanceOf(Problem);
          if (extra === 1) expect(query).toBeInstanceOf(Problem);
        }
      }
    }
  }
});

test('a range that is not given is 30 days, or a day of minutes, with the bucket in progress as its last', async () => {
  const lengths = [
    ['minute', 24 * 60],
    ['hour', 30 * 24],
    ['day', 30],
  ] as const;
  for (const timeZone of ['UTC', 'Europe/Berlin', 'Asia/Kathmandu', 'America/Havana', 'Africa/Cairo']) {
    for (let now = Date.UTC(2026, 0, 1); now < Date.UTC(2027, 0, 1); now += 7 * dayMs + 3_333_333) {
      for (const [interval, length] of lengths) {
        for (const at of [now, startOf(now, 'day', timeZone)]) {
          const { from, to } = await asked(undefined, undefined, interval, timeZone, at);
          const starts = bucketStarts(from, to, interval, timeZone, seriesBucketsMax);
          expect(starts).toHaveLength(length);
          expect(starts.at(-1)).toBe(startOf(at, interval, timeZone));
        }
      }
      const ended = await asked(undefined, startOf(now, 'day', timeZone), 'day', timeZone, now);
      expect(ended.to).toBe(startOf(now, 'day', timeZone));
      expect(bucketStarts(ended.from, ended.to, 'day', timeZone, 31)).toHaveLength(30);
    }
  }
});

test('the warehouse is asked about a link by its owner and its code', async () => {
  expect((await queryOf('')).scopes).toEqual([{ kind: 'link', code: 'a', ownerId: 'owner of a' }]);
});

describe('filters', () => {
  const filter = (dimension: string, values: string[], isExcluded = false) =>
    ({ dimension, values, isExcluded }) as Filter;
  const escaped = (value: string): string => encodeURIComponent(value);

  test.each([
    ['', []],
    ['country=DE', [filter('country', ['DE'])]],
    ['country=DE,FR', [filter('country', ['DE', 'FR'])]],
    ['country=DE%2CFR', [filter('country', ['DE', 'FR'])]],
    ['country=DE,DE', [filter('country', ['DE'])]],
    ['country=!DE,FR', [filter('country', ['DE', 'FR'], true)]],
    ['referrer=', [filter('referrer', [''])]],
    ['referrer=!', [filter('referrer', [''], true)]],
    ['country=DE,', [filter('country', ['DE', ''])]],
    ['country=DE,!FR', [filter('country', ['DE', '!FR'])]],
    [`utmCampaign=${escaped('a\\,b,c\\\\')}`, [filter('utmCampaign', ['a,b', 'c\\'])]],
    [`utmCampaign=${escaped('\\!a')}`, [filter('utmCampaign', ['!a'])]],
    [`utmCampaign=${escaped('a\\')}`, [filter('utmCampaign', ['a\\'])]],
    [`city=${escaped('\\東京,🚲')}`, [filter('city', ['東京', '🚲'])]],
    ['utm_source=news&device=mobile', [filter('device', ['mobile']), filter('utmSource', ['news'])]],
    ['bot=preview', [filter('bot', ['preview'])]],
  ])('?%s', async (text, filters) => {
    expect((await queryOf(text)).filters).toEqual(filters);
  });

  test.each([
    [`country=${Array.from({ length: 51 }, (_, n) => `c${n}`)}`, 'country', 'at most 50 values'],
    [`city=${'x'.repeat(201)}`, 'city', 'at most 200 characters'],
    [`city=${','.repeat(30_000)}`, 'city', 'characters'],
    ['city=%00', 'city', 'NUL'],
    ['contry=DE', 'contry', 'did you mean “country”?'],
    ['utmsource=x', 'utmsource', 'did you mean “utmSource”?'],
    ['link=abc', 'link', 'not a known field'],
  ])('?%s is rejected, and the problem names the field', async (text, field, words) => {
    const problem = await problemOf(queryOf(text));
    expect(problem).toMatchObject({ code: 'invalid_request', fields: { field } });
    expect(problem.detail).toContain(words);
  });

  test('may be as long as the values are that are counted', async () => {
    const page = `https://example.com/${'x'.repeat(1_000)}`;
    expect((await queryOf(`referrerUrl=${page}`)).filters).toEqual([filter('referrerUrl', [page])]);
    const fifty = Array.from({ length: 50 }, (_, n) => `${n}${'x'.repeat(150)}`);
    expect((await queryOf(`city=${fifty}`)).filters).toEqual([filter('city', fifty)]);
  });

  test('are at most ten', async () => {
    const names = dimensions.filter(({ isOfLinks }) => isOfLinks).map(({ name }) => name);
    const ofFirst = (count: number): string =>
      names
        .slice(0, count)
        .map(name => `${name}=x`)
        .join('&');
    expect((await queryOf(ofFirst(10))).filters).toHaveLength(10);
    const problem = await problemOf(queryOf(ofFirst(11)));
    expect(problem).toMatchObject({ code: 'invalid_request', fields: { field: names[10] } });
  });
});
