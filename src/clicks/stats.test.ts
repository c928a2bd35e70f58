import { describe, expect, test } from 'bun:test';
import { seededRandom } from '../base/random.ts';
import { bucketStarts, endOf, type Interval, startOf } from '../base/zone.ts';
import { type SampleClick, samplesStart } from './batch-samples.ts';
import type { DeviceKind } from './click.ts';
import { dimensionNames } from './dimensions.ts';
import { link, ownerOf, randomTraffic, Truth } from './fake-warehouse-truth.ts';
import {
  listedMax,
  readBreakdown,
  readStats,
  type Stats,
  type StatsQuery,
  type StatsSource,
} from './stats.ts';
import type { Answer, Question, Scope } from './warehouse.ts';

const hourMs = 60 * 60_000;
const dayMs = 24 * hourMs;
const now = Date.parse('2026-06-03T10:30:20Z');
const times = [
  '2026-06-01T21:59:00Z',
  '2026-06-01T22:01:00Z',
  '2026-06-02T08:00:00Z',
  '2026-06-03T10:20:00Z',
  '2026-06-03T10:29:30Z',
];
const clicks: readonly SampleClick[] = [
  ...times.map((time, visitor) => ({
    at: Date.parse(time),
    visitor: visitor % 3,
    country: visitor < 3 ? 'DE' : 'FR',
    signal: visitor === 1 ? ('address' as const) : ('none' as const),
  })),
  { at: Date.parse(times[0]!), kind: 'bot' },
];

interface FakeSource extends StatsSource {
  readonly questions: Question[];
}

/** Answers from a list of clicks, and remembers what it was asked. */
function sourceOf(given: readonly SampleClick[], says: Partial<Answer> = {}): FakeSource {
  const truth = new Truth(given);
  const questions: Question[] = [];
  return {
    questions,
    async answer(question) {
      questions.push(question);
      const source = question.filters.length > 0 ? 'clicks' : 'aggregates';
      return { ...truth.answer(question), source, coveredFrom: 0, listsByDayUntil: 0, ...says };
    },
    totals: async scopes => scopes.map(scope => truth.total(scope)),
  };
}

function queryOf(from: string, interval: Interval, timeZone: string, more: Partial<StatsQuery> = {}) {
  return {
    scopes: [link('abc')],
    filters: [],
    from: startOf(Date.parse(from), interval, timeZone),
    to: endOf(now, interval, timeZone),
    interval,
    timeZone,
    now,
    ...more,
  };
}

const ask = (interval: Interval, timeZone: string, from: string, more: Partial<StatsQuery> = {}) =>
  readStats(sourceOf(clicks), queryOf(from, interval, timeZone, more));

const sumOf = (rows: readonly { readonly clicks: number }[]): number =>
  rows.reduce((sum, row) => sum + row.clicks, 0);

describe('stats', () => {
  test('days begin at midnight in the requested time zone', async () => {
    const utc = await ask('day', 'UTC', '2026-06-01T00:00:00Z');
    expect(utc.series.map(bucket => bucket.clicks)).toEqual([2, 1, 2]);
    const berlin = await ask('day', 'Europe/Berlin', '2026-06-01T00:00:00Z');
    expect(berlin.series.map(bucket => [bucket.clicks, bucket.botClicks])).toEqual([
      [1, 1],
      [2, 0],
      [2, 0],
    ]);
    expect(new Date(berlin.series[0]!.start).toISOString()).toBe('2026-05-31T22:00:00.000Z');
  });

  test('a day in Kathmandu begins at a quarter past six in the evening before', async () => {
    const at = (time: string, device: DeviceKind) => ({ at: Date.parse(time), device });
    const source = sourceOf([
      at('2026-06-01T18:14:59Z', 'tv'),
      at('2026-06-01T18:15:00Z', 'mobile'),
      at('2026-06-02T18:14:59Z', 'tablet'),
      at('2026-06-02T18:15:00Z', 'desktop'),
    ]);
    const from = Date.parse('2026-06-01T18:15:00Z');
    const query = queryOf('2026-06-02T00:00:00Z', 'day', 'Asia/Kathmandu', { from, to: from + dayMs });
    const { series, dimensions, range } = await readStats(source, query);
    expect(series).toMatchObject([{ start: from, clicks: 2 }]);
    expect(range.clicks).toBe(2);
    expect(dimensions.device.map(({ value }) => value)).toEqual(['mobile', 'tablet']);
  });

  test('suspicious clicks are among the clicks of their bucket and of the total', async () => {
    const { totalClicks, suspiciousClicks, series } = await ask('day', 'UTC', '2026-06-01T00:00:00Z');
    expect([totalClicks, suspiciousClicks]).toEqual([5, 1]);
    expect(series.map(bucket => [bucket.clicks, bucket.suspiciousClicks])).toEqual([
      [2, 1],
      [1, 0],
      [2, 0],
    ]);
  });

  test('totals and the last 24 hours depend neither on the range nor on filters', async () => {
    const expected = { totalClicks: 5, botClicks: 1, suspiciousClicks: 1, clicks24h: 2 };
    const lastClickAt = Date.parse(times[4]!);
    const filters = [{ dimension: 'country', values: ['FR'], isExcluded: false }] as const;
    const narrow = { to: Date.parse('2026-06-03T00:00:00Z') };
    for (const more of [{}, { filters }, narrow, { ...narrow, filters }]) {
      const stats = await ask('day', 'UTC', '2026-06-02T00:00:00Z', more);
      expect(stats).toMatchObject({ ...expected, lastClickAt });
    }
    const { range, series } = await ask('day', 'UTC', '2026-06-02T00:00:00Z');
    expect(series.map(bucket => bucket.clicks)).toEqual([1, 2]);
    expect(range).toMatchObject({ clicks: 3, botClicks: 0, suspiciousClicks: 0 });
  });

  test('the last 24 hours are 1,440 whole minutes, the one in progress included', async () => {
    const minute = Math.floor(now / 60_000) * 60_000;
    const first = minute + 60_000 - dayMs;
    const source = sourceOf([{ at: first - 1 }, { at: first }, { at: now }, { at: minute + 60_000 }]);
    expect((await readStats(source, queryOf('2026-06-03T00:00:00Z', 'day', 'UTC'))).clicks24h).toBe(2);
  });

  test('totals, visitors, lists and the last day agree with the clicks', async () => {
    const stats = await ask('hour', 'UTC', '2026-06-01T00:00:00Z');
    expect(stats).toMatchObject({ totalClicks: 5, botClicks: 1, clicks24h: 2 });
    expect(stats.range).toEqual({ clicks: 5, botClicks: 1, suspiciousClicks: 1, visitors: 3 });
    expect(stats.dimensions.country).toEqual([
      { value: 'DE', clicks: 3 },
      { value: 'FR', clicks: 2 },
    ]);
    expect(stats.dimensions.bot).toEqual([{ value: 'bot', clicks: 1 }]);
    expect(stats.lastClickAt).toBe(Date.parse(times[4]!));
    expect(sumOf(stats.series)).toBe(5);
  });

  test('lists cover exactly the range: two hours have the devices of those two hours', async () => {
    const from = Date.parse('2026-06-03T08:00:00Z');
    const source = sourceOf([
      { at: from - 1, device: 'tv' },
      { at: from, device: 'mobile' },
      { at: from + 2 * hourMs - 1, device: 'tablet' },
      { at: from + 2 * hourMs, device: 'desktop' },
    ]);
    const query = queryOf('2026-06-03T08:00:00Z', 'hour', 'UTC', { to: from + 2 * hourMs });
    const { dimensions, series, range } = await readStats(source, query);
    expect(dimensions.device).toEqual([
      { value: 'mobile', clicks: 1 },
      { value: 'tablet', clicks: 1 },
    ]);
    expect([range.clicks, series.length]).toEqual([2, 2]);
  });

  test('every bucket of the range is there, and only the newest are still filling', async () => {
    const { series } = await ask('minute', 'UTC', '2026-06-03T10:00:00Z');
    const minuteOf = ({ start }: { readonly start: number }) => new Date(start).toISOString().slice(11, 16);
    expect(series).toHaveLength(31);
    expect(series.filter(bucket => bucket.clicks > 0).map(minuteOf)).toEqual(['10:20', '10:29']);
    expect(series.filter(({ filling }) => filling).map(minuteOf)).toEqual(['10:28', '10:29', '10:30']);
  });

  test('an estimate of visitors above the clicks is not shown', async () => {
    const stats = await readStats(
      sourceOf(clicks, { visitors: 6 }),
      queryOf('2026-06-01T00:00:00Z', 'day', 'UTC', {
        comparison: { from: Date.parse('2026-06-01T00:00:00Z'), to: Date.parse('2026-06-02T00:00:00Z') },
      }),
    );
    expect(stats.range.visitors).toBe(5);
    expect(stats.comparison?.visitors).toBe(2);
  });
});

describe('a filter', () => {
  const germanPhones = [
    { dimension: 'country', values: ['DE'], isExcluded: false },
    { dimension: 'device', values: ['mobile'], isExcluded: false },
  ] as const;
  const from = Date.parse('2026-06-01T00:00:00Z');
  const visits: readonly SampleClick[] = [
    { at: from, device: 'mobile', visitor: 1 },
    { at: from + hourMs, device: 'mobile', visitor: 1 },
    { at: from + dayMs, device: 'mobile', visitor: 2, kind: 'preview' },
    { at: from + dayMs, device: 'desktop', visitor: 3 },
    { at: from + dayMs, device: 'mobile', country: 'FR', visitor: 4 },
  ];

  test('applies to counts, visitors, the series, lists and the comparison alike', async () => {
    const source = sourceOf(visits);
    const query = queryOf('2026-06-02T00:00:00Z', 'day', 'UTC', {
      filters: germanPhones,
      comparison: { from, to: from + dayMs },
    });
    const stats = await readStats(source, query);
    expect(stats.range).toEqual({ clicks: 0, botClicks: 1, suspiciousClicks: 0, visitors: 0 });
    expect(stats.comparison).toMatchObject({ clicks: 2, botClicks: 0, visitors: 1, series: [{ clicks: 2 }] });
    expect(stats.dimensions.device).toEqual([]);
    expect(stats.dimensions.bot).toEqual([{ value: 'preview', clicks: 1 }]);
    expect(stats.source).toBe('clicks');
    expect(stats.totalClicks).toBe(4);
  });

  test('does not apply to anything but the range', async () => {
    const source = sourceOf(visits);
    await readStats(source, queryOf('2026-06-02T00:00:00Z', 'day', 'UTC', { filters: germanPhones }));
    const others = source.questions.filter(({ filters }) => filters.length === 0);
    expect(others).toMatchObject([{ starts: [], breakdowns: [] }]);
    expect(source.questions).toHaveLength(2);
  });
});

describe('a comparison', () => {
  test('has the buckets of its own range', async () => {
    const range = { from: Date.parse('2026-06-01T00:00:00Z'), to: Date.parse('2026-06-03T00:00:00Z') };
    const query = queryOf('2026-06-03T00:00:00Z', 'day', 'UTC', { comparison: range });
    const { comparison, range: own } = await readStats(sourceOf(clicks), query);
    expect(own.clicks).toBe(2);
    expect(comparison).toMatchObject({ ...range, clicks: 3, botClicks: 1, suspiciousClicks: 1, visitors: 3 });
    expect(comparison?.series.map(bucket => [bucket.clicks, bucket.filling])).toEqual([
      [2, false],
      [1, false],
    ]);
  });

  test('is null unless it was asked for', async () => {
    expect((await ask('day', 'UTC', '2026-06-01T00:00:00Z')).comparison).toBeNull();
  });
});

test('an answer says what it was read from, and what it lacks, only where that is in the range', async () => {
  const query = queryOf('2026-06-02T00:00:00Z', 'day', 'UTC', {
    comparison: { from: 0, to: dayMs },
  });
  const whole = await readStats(sourceOf(clicks), query);
  expect(whole).toMatchObject({ source: 'aggregates', coveredFrom: null, listsByDayUntil: null });
  const inside = query.from + hourMs;
  const partly = await readStats(sourceOf(clicks, { coveredFrom: inside, listsByDayUntil: inside }), query);
  expect(partly).toMatchObject({ coveredFrom: inside, listsByDayUntil: inside });
  const before = { coveredFrom: query.from, listsByDayUntil: query.from };
  const later = await readStats(sourceOf(clicks, before), query);
  expect(later).toMatchObject({ coveredFrom: null, listsByDayUntil: null });
  expect(later.comparison?.coveredFrom).toBe(query.from);
});

describe('all numbers of one answer agree', () => {
  const traffic = randomTraffic(seededRandom(7), 2_000);
  const source = sourceOf(traffic);
  const end = samplesStart + 3 * dayMs;

  const expectAgreement = ({ range, series, dimensions }: Stats, isOfLinks: boolean): void => {
    expect(sumOf(series)).toBe(range.clicks);
    expect(series.reduce((sum, { botClicks }) => sum + botClicks, 0)).toBe(range.botClicks);
    expect(series.reduce((sum, bucket) => sum + bucket.suspiciousClicks, 0)).toBe(range.suspiciousClicks);
    expect(range.visitors).toBeLessThanOrEqual(range.clicks);
    for (const name of dimensionNames) {
      const values = dimensions[name];
      expect(values.length).toBeLessThanOrEqual(listedMax);
      const whole = name === 'bot' ? range.botClicks : name === 'link' && isOfLinks ? 0 : range.clicks;
      if (values.length < listedMax) expect([name, sumOf(values)]).toEqual([name, whole]);
    }
  };

  const scopes: readonly Scope[] = [
    link('link0', ownerOf('link0')),
    { kind: 'owner', ownerId: 'acc_1' },
    { kind: 'tag', ownerId: 'acc_2', tag: 'a' },
  ];
  test.each(scopes)('of %j', async scope => {
    for (const timeZone of ['UTC', 'Asia/Kathmandu', 'America/St_Johns']) {
      for (const interval of ['hour', 'day'] as const) {
        for (const filters of [
          [],
          [{ dimension: 'country', values: ['DE', ''], isExcluded: true } as const],
        ]) {
          const from = startOf(samplesStart + 5 * hourMs, interval, timeZone);
          const to = endOf(end - 7 * hourMs, interval, timeZone);
          const query = { scopes: [scope], filters, from, to, interval, timeZone, now: end };
          const stats = await readStats(source, query);
          expect(stats.range.clicks).toBeGreaterThan(0);
          expect(stats.series.map(({ start }) => start)).toEqual(
            bucketStarts(from, to, interval, timeZone, 100),
          );
          expectAgreement(stats, scope.kind === 'link');
        }
      }
    }
  });

  test('of several links, whose totals are added up', async () => {
    const codes = ['link1', 'link4', 'link7'];
    const query = {
      scopes: codes.map(code => link(code, ownerOf(code))),
      filters: [],
      from: samplesStart,
      to: end,
      interval: 'hour' as const,
      timeZone: 'UTC',
      now: end,
    };
    const stats = await readStats(source, query);
    const own = traffic.filter(({ code }) => codes.includes(code!));
    expect(stats.totalClicks).toBe(own.filter(({ kind }) => kind === 'human').length);
    expect(stats.botClicks).toBe(own.filter(({ kind }) => kind !== 'human').length);
    expect(stats.lastClickAt).toBe(Math.max(...own.map(({ at }) => at)));
    expectAgreement(stats, true);
  });
});

test('a breakdown is one page of one dimension, of the clicks that were chosen', async () => {
  const at = Date.parse('2026-06-01T00:00:00Z');
  const cities = Array.from({ length: 30 }, (_, n) => ({ at: at + n, city: `City ${n % 10}` }));
  const source = sourceOf([
    ...cities,
    { at, city: 'Elsewhere', country: 'FR' },
    { at: at + dayMs, city: 'Later' },
  ]);
  const selection = {
    scopes: [link('abc')],
    from: at,
    to: at + dayMs,
    filters: [{ dimension: 'country', values: ['DE'], isExcluded: false }] as const,
  };
  const breakdown = { dimension: 'city', offset: 4, limit: 3, search: 'CITY' } as const;
  expect(await readBreakdown(source, { ...selection, breakdown })).toEqual({
    values: [4, 5, 6].map(n => ({ value: `City ${n}`, clicks: 3 })),
    total: 10,
    source: 'clicks',
    coveredFrom: null,
    listsByDayUntil: null,
  });
  expect(source.questions).toMatchObject([{ starts: [], breakdowns: [breakdown] }]);
});

test('totals and the range are of one moment, where the warehouse has one', async () => {
  const { answer, totals } = sourceOf(clicks);
  const apart = (): never => {
    throw new Error('clicks may be counted between two looks');
  };
  const source: StatsSource = {
    answer: apart,
    totals: apart,
    answerAll: async (questions, scopes) => ({
      answers: await Promise.all(questions.map(answer)),
      totals: await totals(scopes),
    }),
  };
  const query = queryOf('2026-06-01T00:00:00Z', 'day', 'UTC', {
    comparison: { from: now - 9 * dayMs, to: now - 6 * dayMs },
  });
  const { totalClicks, range, clicks24h } = await readStats(source, query);
  expect({ totalClicks, range: range.clicks, clicks24h }).toEqual({
    totalClicks: 5,
    range: 5,
    clicks24h: 2,
  });
});
