import { expect, spyOn, test } from 'bun:test';
import { anonymous } from '../../accounts/account.ts';
import { ManualClock, yieldToEventLoop } from '../../base/clock.ts';
import { Problem } from '../../base/errors.ts';
import { bucketStarts, type Interval, startOf } from '../../base/zone.ts';
import { type ClickReports, type StatsQuery, seriesBucketsMax } from '../../clicks/stats.ts';
import type { LinkContext } from '../../links/context.ts';
import { sampleLink } from '../../links/store-samples.ts';
import type { Route } from '../route.ts';
import { RequestSpelling } from '../spellings.ts';
import { statsRoutes } from './stats.ts';

const noStats = {
  range: { visitors: 0 },
  dimensions: {},
  dimensionDays: { from: 0, to: 0 },
  series: [],
  lastClickAt: null,
};
const dayMs = 24 * 60 * 60_000;

function routeWith(name: string, now: number, stats: (query: StatsQuery) => Promise<unknown>): Route {
  const links = {
    clock: new ManualClock(now),
    store: { find: async (code: string) => sampleLink(code, { publicStats: true }) },
  } as unknown as LinkContext;
  const reports = { stats } as unknown as ClickReports;
  return statsRoutes({ links, reports, minuteDays: 3650 }).find(route => route.name === name)!;
}

const ask = async (route: Route, query: object): Promise<Response> =>
  route.handle({
    params: { code: 'a' },
    query,
    body: undefined,
    actor: anonymous,
    identifyAgain: async () => anonymous,
    spelling: new RequestSpelling('/'),
    request: new Request('http://localhost/'),
  });

/** Calls the route and returns the queries that it sent to the stats thread. */
async function asked(
  from: number | undefined,
  to: number | undefined,
  interval: Interval,
  timeZone: string,
  now = to ?? 0,
): Promise<StatsQuery> {
  const queries: StatsQuery[] = [];
  const route = routeWith('readLinkStats', now, async query => {
    queries.push(query);
    return noStats;
  });
  await ask(route, { from, to, interval, timeZone });
  return queries[0]!;
}

const monthOfDays = { interval: 'day', timeZone: 'UTC' };

test('the same numbers are computed once for all who ask for them together', async () => {
  const answers: PromiseWithResolvers<unknown>[] = [];
  const route = routeWith('readLinkStats', Date.UTC(2026, 5, 1), () => {
    const answer = Promise.withResolvers<unknown>();
    answers.push(answer);
    return answer.promise;
  });
  const waiting = Array.from({ length: 100 }, () => ask(route, monthOfDays));
  const other = ask(route, { ...monthOfDays, timeZone: 'Asia/Tokyo' });
  await yieldToEventLoop();
  expect(answers).toHaveLength(2);
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
    routeWith('readStats', now, async () => noStats).limitCost!({ query, body: undefined });
  const codes = (count: number): string[] => Array.from({ length: count }, (_, n) => `code${n}`);
  expect(costOf(monthOfDays)).toBe(1);
  expect(costOf({ interval: 'minute', timeZone: 'UTC' })).toBe(6);
  expect(costOf({ ...monthOfDays, codes: codes(100) })).toBe(12);
  const quarterOfHours = { interval: 'hour', timeZone: 'UTC', from: now - 90 * dayMs };
  expect(costOf(quarterOfHours)).toBe(9);
  expect(() => costOf({ ...quarterOfHours, codes: codes(10) })).toThrow(Problem);
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
