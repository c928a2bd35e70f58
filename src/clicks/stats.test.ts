import { beforeEach, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock, yieldToEventLoop } from '../base/clock.ts';
import { endOf, type Interval, startOf } from '../base/zone.ts';
import { sampleBatch } from './batch-samples.ts';
import { createLinkClicks, type LinkClicks, readStats, type StatsQuery } from './stats.ts';
import type { ScopeTotal } from './warehouse.ts';
import { openSqliteWarehouse } from './warehouses/sqlite/warehouse.ts';

const now = Date.parse('2026-06-03T10:30:20Z');
const times = [
  '2026-06-01T21:59:00Z',
  '2026-06-01T22:01:00Z',
  '2026-06-02T08:00:00Z',
  '2026-06-03T10:20:00Z',
  '2026-06-03T10:29:30Z',
];

async function ask(interval: Interval, timeZone: string, from: string, dropMinutes = false) {
  const folder = mkdtempSync(join(tmpdir(), 'terse-stats-'));
  const warehouse = openSqliteWarehouse(join(folder, 'stats.db'));
  const clicks = times.map((time, visitor) => ({
    at: Date.parse(time),
    visitor: visitor % 3,
    country: visitor < 3 ? 'DE' : 'FR',
    signal: visitor === 1 ? ('address' as const) : ('none' as const),
  }));
  const bot = { at: Date.parse(times[0]!), kind: 'bot' as const };
  await warehouse.apply([
    { partition: 'p', from: 0, to: 1, producer: 'p', batch: sampleBatch(1, [...clicks, bot]) },
  ]);
  if (dropMinutes) while ((await warehouse.dropMinutes(now, 100)) > 0);
  const query: StatsQuery = {
    scopes: [{ kind: 'link', code: 'abc' }],
    from: startOf(Date.parse(from), interval, timeZone),
    to: endOf(now, interval, timeZone),
    interval,
    timeZone,
    now,
  };
  const stats = await readStats(warehouse, query);
  await warehouse.close();
  rmSync(folder, { recursive: true, force: true });
  return stats;
}

describe('stats', () => {
  test('days begin where the asker lives, whether minutes are kept or not', async () => {
    for (const dropMinutes of [false, true]) {
      const utc = await ask('day', 'UTC', '2026-06-01T00:00:00Z', dropMinutes);
      expect(utc.series.map(({ clicks }) => clicks)).toEqual([2, 1, 2]);
      const berlin = await ask('day', 'Europe/Berlin', '2026-06-01T00:00:00Z', dropMinutes);
      expect(berlin.series.map(({ clicks, botClicks }) => [clicks, botClicks])).toEqual([
        [1, 1],
        [2, 0],
        [2, 0],
      ]);
      expect(new Date(berlin.series[0]!.start).toISOString()).toBe('2026-05-31T22:00:00.000Z');
    }
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

  test('totals are of all time, and sums of the range are those of its buckets', async () => {
    const { totalClicks, botClicks, suspiciousClicks, range, series } = await ask(
      'day',
      'UTC',
      '2026-06-02T00:00:00Z',
    );
    expect([totalClicks, botClicks, suspiciousClicks]).toEqual([5, 1, 1]);
    expect(series.map(({ clicks }) => clicks)).toEqual([1, 2]);
    expect(range).toMatchObject({ clicks: 3, botClicks: 0, suspiciousClicks: 0 });
  });

  test('totals, uniques, lists and the last day agree with the clicks', async () => {
    const stats = await ask('hour', 'UTC', '2026-06-01T00:00:00Z');
    expect(stats).toMatchObject({ totalClicks: 5, botClicks: 1, clicks24h: 2 });
    expect(stats.range).toEqual({ clicks: 5, botClicks: 1, suspiciousClicks: 1, visitors: 3 });
    expect(stats.dimensions.country).toEqual([
      { value: 'DE', clicks: 3 },
      { value: 'FR', clicks: 2 },
    ]);
    expect(stats.lastClickAt).toBe(Date.parse(times[4]!));
    expect(stats.series.reduce((sum, { clicks }) => sum + clicks, 0)).toBe(5);
  });

  test('every bucket of the range is there, and only the newest are still filling', async () => {
    const { series } = await ask('minute', 'UTC', '2026-06-03T10:00:00Z');
    expect(series).toHaveLength(31);
    expect(
      series
        .filter(({ clicks }) => clicks > 0)
        .map(({ start }) => new Date(start).toISOString().slice(11, 16)),
    ).toEqual(['10:20', '10:29']);
    expect(
      series.filter(({ filling }) => filling).map(({ start }) => new Date(start).toISOString().slice(11, 16)),
    ).toEqual(['10:28', '10:29', '10:30']);
  });
});

interface Question {
  readonly codes: readonly string[];
  readonly answer: PromiseWithResolvers<ScopeTotal[]>;
}

let clock: ManualClock;
let questions: Question[];
let clicksOf: LinkClicks;
beforeEach(() => {
  clock = new ManualClock();
  questions = [];
  const totals = (codes: readonly string[]) => {
    const answer = Promise.withResolvers<ScopeTotal[]>();
    questions.push({ codes, answer });
    return answer.promise;
  };
  clicksOf = createLinkClicks({ totals }, clock);
});

const tell = (question: number, ...clicks: number[]): void =>
  questions[question]!.answer.resolve(
    clicks.map(each => ({ clicks: each, bots: 9, suspicious: 0, lastClickAt: null })),
  );

test('clicks are those of people, in the order of the codes', async () => {
  const asked = clicksOf(['a', 'b']);
  tell(0, 3, 0);
  expect(await asked).toEqual([3, 0]);
  expect(questions[0]!.codes).toEqual(['a', 'b']);
  expect(await clicksOf([])).toEqual([]);
  expect(questions).toHaveLength(1);
});

test('many codes are asked for in questions of a bounded size', async () => {
  const codes = Array.from({ length: 2_500 }, (_, n) => `code${n}`);
  const asked = clicksOf(codes);
  expect(questions.map(question => question.codes.length)).toEqual([1_000, 1_000, 500]);
  for (const [index, question] of questions.entries()) tell(index, ...question.codes.map(() => index));
  const clicks = await asked;
  expect([clicks[0], clicks[1_999], clicks[2_499]]).toEqual([0, 1, 2]);
});

test('a warehouse that fails leaves them unknown, and is asked again', async () => {
  const asked = clicksOf(['a', 'b']);
  questions[0]!.answer.reject(new Error('down'));
  expect(await asked).toEqual([null, null]);
  const again = clicksOf(['a']);
  tell(1, 7);
  expect(await again).toEqual([7]);
});

test('nobody waits for a warehouse that hangs but the first, and that one for a bounded time', async () => {
  const first = clicksOf(['a'], 200);
  clock.advance(200);
  expect(await first).toEqual([null]);
  expect(await clicksOf(['b'])).toEqual([null]);
  expect(questions).toHaveLength(1);
  tell(0, 1);
  await yieldToEventLoop();
  const later = clicksOf(['c']);
  tell(1, 5);
  expect(await later).toEqual([5]);
  clock.advance(10_000);
  const last = clicksOf(['d']);
  tell(2, 6);
  expect(await last).toEqual([6]);
});
