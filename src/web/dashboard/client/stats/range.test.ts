import { describe, expect, test } from 'bun:test';
import { intervalsFor, previousOf, rangeOf, zoomed } from './range.ts';

const dayMs = 24 * 60 * 60_000;
const nowMs = Date.UTC(2026, 5, 15, 12);
const minutesFromMs = nowMs - 14 * dayMs;
const range = (query: string) => rangeOf(new URLSearchParams(query), nowMs, minutesFromMs);

describe('the range in the address bar', () => {
  test('is thirty days unless it says otherwise', () => {
    expect(range('')).toEqual({ fromMs: nowMs - 30 * dayMs, toMs: nowMs, interval: 'day', preset: '30d' });
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

  test('has a time before it of the same length', () => {
    expect(previousOf({ fromMs: 100, toMs: 160, interval: 'day' })).toEqual({
      fromMs: 40,
      toMs: 100,
      interval: 'day',
    });
  });
});

describe('zooming', () => {
  test('goes to whole steps, and never below a few minutes', () => {
    const point = zoomed(nowMs + 1_000, nowMs + 2_000);
    expect(Date.parse(point.to) - Date.parse(point.from)).toBeGreaterThanOrEqual(10 * 60_000);
    const days = zoomed(nowMs - 20 * dayMs, nowMs);
    expect(days).toEqual({ from: '2026-05-26T00:00:00.000Z', to: '2026-06-16T00:00:00.000Z' });
  });
});
