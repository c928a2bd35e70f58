import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { bucketStarts, endOf, startOf } from '../../../../base/zone.ts';
import type { Interval, Stats } from '../api/types.ts';
import { chartData, intervalsFor, peakOf, presets, previousOf, rangeOf, zoomed } from './range.ts';

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
    });
    expect(range('range=nonsense').preset).toBe('30d');
  });

  test('comes in steps that show a shape', () => {
    expect(['1h', '24h', '7d', '90d', '12m'].map(name => range(`range=${name}`).interval)).toEqual([
      'minute',
      'hour',
      'hour',
      'day',
      'day',
    ]);
    expect(range('range=24h&interval=minute').interval).toBe('minute');
  });

  test('of one’s own goes before a preset; one that ends before it starts is none', () => {
    const own = range('range=7d&from=2026-06-01T00:00:00.000Z&to=2026-06-02T00:00:00.000Z');
    expect(own).toMatchObject({
      fromMs: Date.UTC(2026, 5, 1),
      toMs: Date.UTC(2026, 5, 2),
      preset: undefined,
    });
    expect(range('from=2026-06-02T00:00:00Z&to=2026-06-01T00:00:00Z').preset).toBe('30d');
  });

  test('is never asked for in minutes that are not kept, nor in more steps than the server answers', () => {
    expect(intervalsFor(nowMs - 20 * dayMs, nowMs - 19 * dayMs, minutesFromMs)).toEqual(['hour']);
    expect(intervalsFor(nowMs - 2 * dayMs, nowMs, minutesFromMs)).toEqual(['hour', 'day']);
    expect(intervalsFor(nowMs - 93 * dayMs, nowMs, minutesFromMs)).toEqual(['day']);
    expect(intervalsFor(nowMs - 92 * dayMs, nowMs, minutesFromMs)).toEqual(['hour', 'day']);
  });

  test('has as many buckets as the preset says, and as many before it, in every time zone', () => {
    const lengths = { '1h': 1 / 24, '24h': 1, '7d': 7, '30d': 30, '90d': 90, '12m': 365 } as const;
    const perDay: Readonly<Record<Interval, number>> = { minute: 24 * 60, hour: 24, day: 1 };
    const moment = fc.integer({ min: Date.UTC(2020, 0), max: Date.UTC(2030, 0) });
    fc.assert(
      fc.property(
        fc.constantFrom(...Intl.supportedValuesOf('timeZone')),
        fc.constantFrom(...presets),
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
          const stats = { from: new Date(fromMs).toISOString(), series: starts, interval };
          const previous = previousOf(stats as unknown as Stats, timeZone);
          const before = answered(previous.fromMs, previous.toMs, interval, timeZone);
          expect(before).toHaveLength(starts.length);
          expect(endOf(before.at(-1)!, interval, timeZone)).toBe(fromMs);
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

describe('zooming', () => {
  test('goes to whole steps, and never below a few minutes', () => {
    const point = zoomed(nowMs + 1_000, nowMs + 2_000, 'UTC');
    expect(Date.parse(point.to) - Date.parse(point.from)).toBeGreaterThanOrEqual(10 * 60_000);
    const days = zoomed(nowMs - 20 * dayMs, nowMs, 'UTC');
    expect(days).toEqual({ from: '2026-05-26T00:00:00.000Z', to: '2026-06-16T00:00:00.000Z' });
    const elsewhere = zoomed(Date.UTC(2026, 4, 31, 22), Date.UTC(2026, 5, 14, 22), 'Europe/Berlin');
    expect(elsewhere).toEqual({ from: '2026-05-31T22:00:00.000Z', to: '2026-06-14T22:00:00.000Z' });
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

test('the time before is drawn step by step, however many it has', () => {
  const { previous } = chartData([bucket(0, 1), bucket(1, 1)], [bucket(-2, 9)]);
  expect(previous).toEqual([9, null]);
});

test('the peak is the first of the highest', () => {
  expect(peakOf([bucket(0, 1), bucket(1, 4), bucket(2, 4)])).toEqual(bucket(1, 4));
  expect(peakOf([])).toBeUndefined();
});
