/** Which time the numbers are for. It stands in the address bar, so that a view can be passed on. */
import { endOf, startOf, startOfLast } from '../../../../base/zone.ts';
import type { StatsRange } from '../api/stats.ts';
import type { Interval, Stats } from '../api/types.ts';

export const presets = ['1h', '24h', '7d', '30d', '90d', '12m'] as const;
export type Preset = (typeof presets)[number];
export const defaultPreset: Preset = '30d';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

const lengthMs: Readonly<Record<Preset, number>> = {
  '1h': hourMs,
  '24h': dayMs,
  '7d': 7 * dayMs,
  '30d': 30 * dayMs,
  '90d': 90 * dayMs,
  '12m': 365 * dayMs,
};

export interface ChosenRange extends StatsRange {
  readonly preset: Preset | undefined;
}

/** Buckets in one answer at the most, less the two by which the server may widen a range; it refuses more. */
const bucketsMax = 93 * 24 - 2;
const intervalMs: Readonly<Record<Interval, number>> = { minute: minuteMs, hour: hourMs, day: dayMs };

/** What a range depends on besides what was chosen. */
export interface RangeContext {
  readonly nowMs: number;
  readonly timeZone: string;
  /** The server has single minutes from here on. */
  readonly minutesFromMs: number;
}

/** A preset is as many buckets as its name says; the last of them is the one in progress. */
export function rangeOf(
  query: URLSearchParams,
  { nowMs, timeZone, minutesFromMs }: RangeContext,
): ChosenRange {
  const fromMs = Date.parse(query.get('from') ?? '');
  const toMs = Date.parse(query.get('to') ?? '');
  const asked = query.get('interval') ?? '';
  if (fromMs < toMs) {
    return { fromMs, toMs, interval: intervalFor(fromMs, toMs, minutesFromMs, asked), preset: undefined };
  }
  const preset = presets.find(name => name === query.get('range')) ?? defaultPreset;
  const interval = intervalFor(nowMs - lengthMs[preset], nowMs, minutesFromMs, asked);
  const end = endOf(nowMs, interval, timeZone);
  const start = startOfLast(lengthMs[preset] / intervalMs[interval], end, interval, timeZone);
  return { fromMs: start, toMs: end, interval, preset };
}

/** Fine enough to show a shape, coarse enough to be read; or what was asked for, if that is possible. */
export function intervalFor(fromMs: number, toMs: number, minutesFromMs: number, asked: string): Interval {
  const possible = intervalsFor(fromMs, toMs, minutesFromMs);
  const wanted = possible.find(interval => interval === asked);
  if (wanted !== undefined) return wanted;
  const spanMs = toMs - fromMs;
  if (spanMs <= 6 * hourMs && possible.includes('minute')) return 'minute';
  return spanMs <= 8 * dayMs ? 'hour' : 'day';
}

export function intervalsFor(fromMs: number, toMs: number, minutesFromMs: number): Interval[] {
  const spanMs = toMs - fromMs;
  const intervals: Interval[] = [];
  if (spanMs / minuteMs < bucketsMax && fromMs > minutesFromMs) intervals.push('minute');
  if (spanMs / hourMs < bucketsMax && spanMs > hourMs) intervals.push('hour');
  if (spanMs > dayMs) intervals.push('day');
  return intervals.length === 0 ? ['hour'] : intervals;
}

/** As many buckets as were shown, just before them. */
export function previousOf({ from, series, interval }: Stats, timeZone: string): StatsRange {
  const toMs = Date.parse(from);
  return { fromMs: startOfLast(series.length, toMs, interval, timeZone), toMs, interval };
}

/** What was drawn over, in whole buckets and never less than a few of the finest. */
export function zoomed(fromMs: number, toMs: number, timeZone: string): { from: string; to: string } {
  const middle = (fromMs + toMs) / 2;
  const half = Math.max((toMs - fromMs) / 2, 5 * minuteMs);
  const step = 2 * half <= 6 * hourMs ? 'minute' : 2 * half <= 8 * dayMs ? 'hour' : 'day';
  return {
    from: new Date(startOf(middle - half, step, timeZone)).toISOString(),
    to: new Date(endOf(middle + half - 1, step, timeZone)).toISOString(),
  };
}
