/** The time range of the statistics, kept in the address bar so that a view can be shared, and its buckets. Pure. */
import { endOf, startOf, startOfLast } from '../../../../base/zone.ts';
import type { StatsRange } from '../api/calls.ts';
import type { Bucket, Interval, Stats } from '../api/types.ts';

export const presets = ['1h', '24h', '7d', '30d', '90d', '12m'] as const;
type Preset = (typeof presets)[number];
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

/** Maximum number of buckets in one answer, less the two by which the server may widen a range; it rejects more. */
const bucketsMax = 93 * 24 - 2;
const intervalMs: Readonly<Record<Interval, number>> = { minute: minuteMs, hour: hourMs, day: dayMs };

/** What a range depends on besides the user's choice. */
interface RangeContext {
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

/** Fine enough to show a shape, coarse enough to be read; or the requested interval, if that is possible. */
function intervalFor(fromMs: number, toMs: number, minutesFromMs: number, asked: string): Interval {
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

/** The same number of buckets, just before those shown. */
export function previousOf({ from, series, interval }: Stats, timeZone: string): StatsRange {
  const toMs = Date.parse(from);
  return { fromMs: startOfLast(series.length, toMs, interval, timeZone), toMs, interval };
}

/** The dragged range, in whole buckets and never less than a few of the finest. */
export function zoomed(fromMs: number, toMs: number, timeZone: string): { from: string; to: string } {
  const middle = (fromMs + toMs) / 2;
  const half = Math.max((toMs - fromMs) / 2, 5 * minuteMs);
  const step = 2 * half <= 6 * hourMs ? 'minute' : 2 * half <= 8 * dayMs ? 'hour' : 'day';
  return {
    from: new Date(startOf(middle - half, step, timeZone)).toISOString(),
    to: new Date(endOf(middle + half - 1, step, timeZone)).toISOString(),
  };
}

interface ChartData {
  /** Seconds since the epoch, as the plot requires. */
  readonly times: number[];
  /** People's clicks in buckets that are final. */
  readonly clicks: (number | null)[];
  /** In buckets that may still grow, together with the last final one, so that the lines meet. */
  readonly filling: (number | null)[];
  readonly bots: number[];
  readonly previous: (number | null)[];
}

/** Converts buckets into the columns of a plot. Pure. */
export function chartData(series: readonly Bucket[], previous: readonly Bucket[] | undefined): ChartData {
  const firstFilling = series.findIndex(({ filling }) => filling);
  const solidEnd = firstFilling === -1 ? series.length : firstFilling;
  return {
    times: series.map(({ start }) => Date.parse(start) / 1_000),
    clicks: series.map(({ clicks }, index) => (index < solidEnd ? clicks : null)),
    filling: series.map(({ clicks }, index) =>
      index >= solidEnd - 1 && solidEnd < series.length ? clicks : null,
    ),
    bots: series.map(({ botClicks }) => botClicks),
    // As many buckets as are shown, unless the earlier minutes are no longer kept.
    previous: series.map((_, index) => previous?.[index]?.clicks ?? null),
  };
}

/** The chart in a sentence, for screen readers. */
export function peakOf(series: readonly Bucket[]): Bucket | undefined {
  return series.reduce<Bucket | undefined>(
    (peak, bucket) => (peak === undefined || bucket.clicks > peak.clicks ? bucket : peak),
    undefined,
  );
}
