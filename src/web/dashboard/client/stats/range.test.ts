import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { bucketStarts, endOf, startOf } from '../../../../base/zone.ts';
import type { Interval } from '../api/types.ts';
import {
  chartData,
  comparisonOf,
  comparisonQuery,
  dayIn,
  daysRange,
  firstBucket,
  intervalsFor,
  peakOf,
  rangeOf,
  withArriving,
  zoomed,
} from './range.ts';

const dayMs = 24 * 60 * 60_000;
const nowMs = Date.UTC(2026, 5, 15, 12);
const minutesFromMs = nowMs - 14 * dayMs;
const range = (query: string) =>
  rangeOf(new URLSearchParams(query), { nowMs, timeZone: 'UTC', minutesFromMs });

/** The server's answer: whole buckets around the requested range. */
function answered(fromMs: number, toMs: number, interval: Interval, timeZone: string): number[] {
  const from = startOf(fromMs, interval, timeZone);
  return bucketStarts(from, endOf(toMs - 1, interval, timeZone), interval, timeZone, 10_000);
}

describe('the range in the address bar', () => {
  test('is thirty days unless it says otherwise', () => {
    expect(range('')).toEqual({
      fromMs: Date.UTC(2026, 4, 17),
      toMs: Date.UTC(2026, 5, 16),
      interval: 'day',
      preset: '30d',
      isZoomed: false,
    });
    expect(range('range=nonsense').preset).toBe('30d');
  });

  test('has an interval that shows a shape', () => {
    expect(['1h', '24h', '7d', '90d', '12m'].map(name => range(`range=${name}`).interval)).toEqual([
      'minute',
      'hour',
      'hour',
      'day',
      'day',
    ]);
    expect(range('range=24h&interval=minute').interval).toBe('minute');
  });

  test('of custom dates overrides a preset; one that ends before it starts is ignored', () => {
    const own = range('range=7d&from=2026-06-01T00:00:00.000Z&to=2026-06-02T00:00:00.000Z');
    expect(own).toMatchObject({
      fromMs: Date.UTC(2026, 5, 1),
      toMs: Date.UTC(2026, 5, 2),
      preset: undefined,
    });
    expect(range('from=2026-06-02T00:00:00Z&to=2026-06-01T00:00:00Z').preset).toBe('30d');
    const part = zoomed(Date.UTC(2026, 5, 1, 12), Date.UTC(2026, 5, 1, 13), 'UTC');
    const parts = new URLSearchParams({ from: '2026-06-01', to: '2026-06-02', ...part });
    expect(range(parts.toString())).toMatchObject({ fromMs: Date.UTC(2026, 5, 1, 12), isZoomed: true });
  });

  test('is never requested in minutes that are not kept, nor in more buckets than the server allows', () => {
    expect(intervalsFor(nowMs - 20 * dayMs, nowMs - 19 * dayMs, minutesFromMs)).toEqual(['hour']);
    expect(intervalsFor(nowMs - 2 * dayMs, nowMs, minutesFromMs)).toEqual(['hour', 'day']);
    expect(intervalsFor(nowMs - 93 * dayMs, nowMs, minutesFromMs)).toEqual(['day']);
    expect(intervalsFor(nowMs - 92 * dayMs, nowMs, minutesFromMs)).toEqual(['hour', 'day']);
  });

  test('has as many buckets as the preset says, in every time zone', () => {
    const lengths = { '1h': 1 / 24, '24h': 1, '7d': 7, '30d': 30, '90d': 90, '12m': 365 } as const;
    const perDay: Readonly<Record<Interval, number>> = { minute: 24 * 60, hour: 24, day: 1 };
    const moment = fc.integer({ min: Date.UTC(2020, 0), max: Date.UTC(2030, 0) });
    fc.assert(
      fc.property(
        fc.constantFrom(...Intl.supportedValuesOf('timeZone')),
        fc.constantFrom(...(Object.keys(lengths) as (keyof typeof lengths)[])),
        fc.constantFrom<Interval | ''>('', 'minute', 'hour', 'day'),
        moment,
        fc.boolean(),
        (timeZone, preset, asked, at, isMidnight) => {
          // Half an hour of a clock change leaves no whole hours (zone.ts).
          fc.pre(timeZone !== 'Australia/Lord_Howe' || asked === 'day');
          const now = isMidnight ? startOf(at, 'day', timeZone) : at;
          const { fromMs, toMs, interval } = rangeOf(
            new URLSearchParams({ range: preset, interval: asked }),
            { nowMs: now, timeZone, minutesFromMs: now - 14 * dayMs },
          );
          const starts = answered(fromMs, toMs, interval, timeZone);
          expect(starts).toHaveLength(Math.round(lengths[preset] * perDay[interval]));
          expect(starts[0]).toBe(fromMs);
          expect(endOf(now, interval, timeZone)).toBe(toMs);
        },
      ),
      { numRuns: 400 },
    );
  });

  test('of days has each of them, also where clocks change', () => {
    for (const [timeZone, at, from] of [
      ['Europe/Berlin', '2026-03-29T10:00:00Z', '2026-03-22T23:00:00.000Z'],
      ['Europe/Berlin', '2026-10-31T22:59:59Z', '2026-10-24T22:00:00.000Z'],
      ['America/Havana', '2026-03-08T05:00:00Z', '2026-03-02T05:00:00.000Z'],
      ['Australia/Lord_Howe', '2026-04-06T00:00:00Z', '2026-03-30T13:00:00.000Z'],
    ] as const) {
      const week = rangeOf(new URLSearchParams('range=7d&interval=day'), {
        nowMs: Date.parse(at),
        timeZone,
        minutesFromMs,
      });
      expect([
        new Date(week.fromMs).toISOString(),
        answered(week.fromMs, week.toMs, 'day', timeZone).length,
      ]).toEqual([from, 7]);
    }
  });
});

describe('a range by the calendar', () => {
  const at = (text: string) => Date.parse(text);
  const inZone = (query: string, timeZone: string, createdMs?: number) => {
    const { fromMs, toMs, interval, preset } = rangeOf(new URLSearchParams(query), {
      nowMs,
      timeZone,
      minutesFromMs,
      createdMs,
    });
    return [new Date(fromMs).toISOString(), new Date(toMs).toISOString(), interval, preset];
  };

  test('is today, yesterday or the month so far, in the zone', () => {
    expect(inZone('range=today', 'Asia/Tokyo')).toEqual([
      '2026-06-14T15:00:00.000Z',
      '2026-06-15T13:00:00.000Z',
      'hour',
      'today',
    ]);
    expect(inZone('range=yesterday', 'Asia/Tokyo')).toEqual([
      '2026-06-13T15:00:00.000Z',
      '2026-06-14T15:00:00.000Z',
      'hour',
      'yesterday',
    ]);
    expect(inZone('range=month', 'America/New_York')).toEqual([
      '2026-06-01T04:00:00.000Z',
      '2026-06-16T04:00:00.000Z',
      'day',
      'month',
    ]);
  });

  test('begins when a link was created, which is the default of a new one', () => {
    expect(inZone('', 'UTC', at('2026-06-15T11:20:30Z'))).toEqual([
      '2026-06-15T11:20:00.000Z',
      '2026-06-15T12:01:00.000Z',
      'minute',
      'created',
    ]);
    expect(inZone('', 'UTC', at('2026-06-10T11:20:30Z'))[3]).toBe('created');
    expect(inZone('', 'UTC', at('2026-01-10T11:20:30Z'))[3]).toBe('30d');
    expect(inZone('range=created', 'UTC', at('2026-01-10T11:20:30Z'))[0]).toBe('2026-01-10T00:00:00.000Z');
    expect(inZone('range=created', 'UTC')[3]).toBe('30d');
  });

  test('is chosen by its first and last day, also where clocks change', () => {
    expect(daysRange('2026-03-29', '2026-03-29', 'Europe/Berlin')).toEqual({
      from: '2026-03-28T23:00:00.000Z',
      to: '2026-03-29T22:00:00.000Z',
    });
    expect(daysRange('2026-03-02', '2026-03-01', 'UTC')).toBe('order');
    expect(daysRange('2019-01-01', '2026-03-01', 'UTC')).toBe('length');
    expect(daysRange('2020-03-25', '2026-04-30', 'Europe/Berlin')).toMatchObject({
      to: '2026-04-30T22:00:00.000Z',
    });
    for (const zone of ['UTC', 'Europe/Berlin']) {
      expect(daysRange('', '2026-03-01', zone)).toBeUndefined();
      expect(daysRange('2026-03-01', '', zone)).toBeUndefined();
    }
    expect(dayIn(at('2026-03-28T23:00:00Z'), 'Europe/Berlin')).toBe('2026-03-29');
  });
});

describe('a comparison', () => {
  const days = (fromMs: number, toMs: number) => ({ fromMs, toMs, interval: 'day' as const });

  test('is none for all time, and the previous period in addresses of earlier versions', () => {
    expect(comparisonOf(new URLSearchParams('compare=year'), 'all')).toBeUndefined();
    expect(comparisonOf(new URLSearchParams('compare=on'), '30d')).toBe('previous');
    expect(comparisonOf(new URLSearchParams('compare=other'), '30d')).toBeUndefined();
  });

  test('with matching weekdays is whole weeks earlier, and never overlaps', () => {
    const zone = 'Europe/Berlin';
    for (const length of [1, 6, 7, 8, 30]) {
      const from = startOf(Date.UTC(2026, 3, 10), 'day', zone);
      const to = endOf(from + (length - 0.5) * dayMs, 'day', zone);
      const asked = comparisonQuery('weekdays', days(from, to), zone);
      const [compareFrom, compareTo] = [Date.parse(asked.compareFrom!), Date.parse(asked.compareTo!)];
      const weekday = (ms: number) => new Date(ms + 12 * 60 * 60_000).getUTCDay();
      expect(weekday(compareFrom)).toBe(weekday(from));
      expect(compareTo).toBeLessThanOrEqual(from);
      expect(answered(compareFrom, compareTo, 'day', zone)).toHaveLength(length);
    }
  });
});

test('all time begins at the first bucket that has anything', () => {
  const empty = { ...bucket(0, 0), botClicks: 0 };
  expect(firstBucket([empty, empty, bucket(2, 0), bucket(3, 1)])).toBe(2);
  expect(firstBucket([empty, empty])).toBe(1);
  expect(firstBucket([])).toBe(0);
});

describe('zooming', () => {
  test('goes to whole steps, and never below a few minutes', () => {
    const point = zoomed(nowMs + 1_000, nowMs + 2_000, 'UTC');
    expect(Date.parse(point.zoomTo) - Date.parse(point.zoomFrom)).toBeGreaterThanOrEqual(10 * 60_000);
    const days = zoomed(nowMs - 20 * dayMs, nowMs, 'UTC');
    expect(days).toEqual({ zoomFrom: '2026-05-26T00:00:00.000Z', zoomTo: '2026-06-16T00:00:00.000Z' });
    const elsewhere = zoomed(Date.UTC(2026, 4, 31, 22), Date.UTC(2026, 5, 14, 22), 'Europe/Berlin');
    expect(elsewhere).toEqual({ zoomFrom: '2026-05-31T22:00:00.000Z', zoomTo: '2026-06-14T22:00:00.000Z' });
  });
});

const bucket = (minute: number, clicks: number, filling = false) => ({
  start: new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString(),
  clicks,
  botClicks: 1,
  suspiciousClicks: 0,
  filling,
});

test('buckets that are still filling are a line of their own that begins at the last final one', () => {
  const { clicks, filling } = chartData([bucket(0, 5), bucket(1, 7), bucket(2, 3, true)], undefined);
  expect(clicks).toEqual([5, 7, null]);
  expect(filling).toEqual([null, 7, 3]);
});

test('without filling buckets there is no such line, and with nothing else only it', () => {
  expect(chartData([bucket(0, 5)], undefined).filling).toEqual([null]);
  expect(chartData([bucket(0, 5, true)], undefined)).toMatchObject({ clicks: [null], filling: [5] });
});

test('the previous period is drawn bucket by bucket, however many it has', () => {
  const { previous } = chartData([bucket(0, 1), bucket(1, 1)], [bucket(-2, 9)]);
  expect(previous).toEqual([9, null]);
});

test('arriving clicks are in the bucket of this moment, also if the range ends later', () => {
  const series = [bucket(0, 1), bucket(1, 2), bucket(2, 0)];
  const after = withArriving(series, 3, Date.parse(bucket(1, 0).start) + 30_000);
  expect(after.map(({ clicks }) => clicks)).toEqual([1, 5, 0]);
  expect(withArriving(series, 3, Date.parse(bucket(0, 0).start) - 1)).toBe(series);
});

test('the peak is the first of the highest', () => {
  expect(peakOf([bucket(0, 1), bucket(1, 4), bucket(2, 4)])).toEqual(bucket(1, 4));
  expect(peakOf([])).toBeUndefined();
});
