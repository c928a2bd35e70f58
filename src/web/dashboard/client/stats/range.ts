/** The time range of the statistics, kept in the address bar so that a view can be shared, and its buckets. Pure. */
import { endOf, startOf, startOfLast, zoneOffsetMs } from '../../../../base/zone.ts';
import type { StatsRange } from '../api/calls.ts';
import type { Bucket, Interval } from '../api/types.ts';

export const presets = [
  '1h',
  '24h',
  'today',
  'yesterday',
  '7d',
  '30d',
  '90d',
  'month',
  '12m',
  'created',
  'all',
] as const;
type Preset = (typeof presets)[number];

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** Presets that are as many buckets as their names say; the last of them is the one in progress. */
const lengthMs: Readonly<Partial<Record<Preset, number>>> = {
  '1h': hourMs,
  '24h': dayMs,
  '7d': 7 * dayMs,
  '30d': 30 * dayMs,
  '90d': 90 * dayMs,
  '12m': 365 * dayMs,
};

export interface ChosenRange extends StatsRange {
  readonly preset: Preset | undefined;
  /** Whether it is a part of the chosen range that the chart was zoomed into. */
  readonly isZoomed: boolean;
}

/** Maximum number of buckets in one answer, less the two by which the server may widen a range; it rejects more. */
export const bucketsMax = 93 * 24 - 2;
const intervalMs: Readonly<Record<Interval, number>> = { minute: minuteMs, hour: hourMs, day: dayMs };

/** The other inputs of a range, besides the user's choice. */
export interface RangeContext {
  readonly nowMs: number;
  readonly timeZone: string;
  /** The server has single minutes from here on. */
  readonly minutesFromMs: number;
  /** When the link was created; undefined for several links. */
  readonly createdMs?: number | undefined;
}

/** A link that is younger is shown since it was created, unless the user chose otherwise. */
const newLinkMs = 30 * dayMs;

export function defaultPresetOf({ createdMs, nowMs }: Pick<RangeContext, 'createdMs' | 'nowMs'>): Preset {
  return createdMs !== undefined && nowMs - createdMs < newLinkMs ? 'created' : '30d';
}

export function rangeOf(query: URLSearchParams, context: RangeContext): ChosenRange {
  const { minutesFromMs, createdMs } = context;
  const asked = query.get('interval') ?? '';
  for (const [from, to] of [
    ['zoomFrom', 'zoomTo'],
    ['from', 'to'],
  ] as const) {
    const fromMs = Date.parse(query.get(from) ?? '');
    const toMs = Date.parse(query.get(to) ?? '');
    if (fromMs < toMs) {
      const interval = intervalFor(fromMs, toMs, minutesFromMs, asked);
      return { fromMs, toMs, interval, preset: undefined, isZoomed: from === 'zoomFrom' };
    }
  }
  const named = presets.find(name => name === query.get('range'));
  const preset =
    named === undefined || (named === 'created' && createdMs === undefined)
      ? defaultPresetOf(context)
      : named;
  return { ...presetRange(preset, asked, context), preset, isZoomed: false };
}

function presetRange(preset: Preset, asked: string, context: RangeContext): StatsRange {
  const { nowMs, timeZone, minutesFromMs, createdMs = nowMs } = context;
  const today = startOf(nowMs, 'day', timeZone);
  const within = (fromMs: number, toMs: number): StatsRange => {
    const interval = intervalFor(fromMs, toMs, minutesFromMs, asked);
    return { fromMs, toMs: Math.min(toMs, endOf(nowMs, interval, timeZone)), interval };
  };
  switch (preset) {
    case 'today':
      return within(today, endOf(nowMs, 'day', timeZone));
    case 'yesterday':
      return within(startOfLast(1, today, 'day', timeZone), today);
    case 'month': {
      const dayOfMonth = new Date(nowMs + zoneOffsetMs(nowMs, timeZone)).getUTCDate();
      return within(startOfLast(dayOfMonth - 1, today, 'day', timeZone), endOf(nowMs, 'day', timeZone));
    }
    case 'created': {
      const interval = intervalFor(createdMs, nowMs, minutesFromMs, asked);
      return {
        fromMs: startOf(Math.min(createdMs, nowMs), interval, timeZone),
        toMs: endOf(nowMs, interval, timeZone),
        interval,
      };
    }
    case 'all': {
      const toMs = endOf(nowMs, 'day', timeZone);
      return { fromMs: startOfLast(bucketsMax, toMs, 'day', timeZone), toMs, interval: 'day' };
    }
    default: {
      const length = lengthMs[preset]!;
      const interval = intervalFor(nowMs - length, nowMs, minutesFromMs, asked);
      const toMs = endOf(nowMs, interval, timeZone);
      return { fromMs: startOfLast(length / intervalMs[interval], toMs, interval, timeZone), toMs, interval };
    }
  }
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

/** From the first of all clicks on: what lies before them is empty, so all other numbers stay as they are. */
export function firstBucket(series: readonly Bucket[]): number {
  const first = series.findIndex(({ clicks, botClicks }) => clicks + botClicks > 0);
  return first === -1 ? Math.max(0, series.length - 1) : first;
}

export const comparisons = ['previous', 'year', 'weekdays'] as const;
export type ComparisonName = (typeof comparisons)[number];

/** All time has nothing before it. */
export function comparisonOf(query: URLSearchParams, preset: Preset | undefined): ComparisonName | undefined {
  if (preset === 'all') return undefined;
  const asked = query.get('compare');
  return asked === 'on' ? 'previous' : comparisons.find(name => name === asked);
}

/** The parameters for the API. Matching weekdays are as many whole weeks earlier as the range is long, or a little more. */
export function comparisonQuery(
  comparison: ComparisonName | undefined,
  { fromMs, toMs }: StatsRange,
  timeZone: string,
): Readonly<Record<string, string>> {
  if (comparison !== 'weekdays') return comparison === undefined ? {} : { compare: comparison };
  const weeks = Math.max(1, Math.ceil((toMs - fromMs - hourMs) / (7 * dayMs)));
  const earlier = (atMs: number): string => {
    const day = startOf(atMs, 'day', timeZone);
    return new Date(startOfLast(7 * weeks, day, 'day', timeZone) + (atMs - day)).toISOString();
  };
  return { compareFrom: earlier(fromMs), compareTo: earlier(toMs) };
}

/** Calendar days, including the last one, as a range; undefined while one of them is not a date. */
export function daysRange(
  first: string,
  last: string,
  timeZone: string,
): { readonly from: string; readonly to: string } | 'order' | 'length' | undefined {
  const [fromMs, lastMs] = [first, last].map(day => {
    const noonMs = Date.parse(`${day}T12:00:00Z`);
    // zoneOffsetMs() does not accept an invalid time.
    return Number.isNaN(noonMs) ? noonMs : startOf(noonMs - zoneOffsetMs(noonMs, timeZone), 'day', timeZone);
  }) as [number, number];
  if (Number.isNaN(fromMs) || Number.isNaN(lastMs)) return undefined;
  if (fromMs > lastMs) return 'order';
  const toMs = endOf(lastMs, 'day', timeZone);
  // Rounded, because summer time changes the length by an hour.
  if (Math.round((toMs - fromMs) / dayMs) > bucketsMax) return 'length';
  return { from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() };
}

/** The day of the calendar that a moment is in, as a date input has it. */
export const dayIn = (atMs: number, timeZone: string): string =>
  new Date(atMs + zoneOffsetMs(atMs, timeZone)).toISOString().slice(0, 10);

/** The dragged range, in whole buckets and never less than a few of the finest. */
export function zoomed(
  fromMs: number,
  toMs: number,
  timeZone: string,
): { readonly zoomFrom: string; readonly zoomTo: string } {
  const middle = (fromMs + toMs) / 2;
  const half = Math.max((toMs - fromMs) / 2, 5 * minuteMs);
  const step = 2 * half <= 6 * hourMs ? 'minute' : 2 * half <= 8 * dayMs ? 'hour' : 'day';
  return {
    zoomFrom: new Date(startOf(middle - half, step, timeZone)).toISOString(),
    zoomTo: new Date(endOf(middle + half - 1, step, timeZone)).toISOString(),
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
    // A year earlier there may be a day more or less.
    previous: series.map((_, index) => previous?.[index]?.clicks ?? null),
  };
}

/** The bucket of this moment grows as clicks arrive; a range that ends at midnight has later ones. */
export function withArriving(series: readonly Bucket[], arriving: number, nowMs: number): readonly Bucket[] {
  const at = series.findLastIndex(({ start }) => Date.parse(start) <= nowMs);
  if (arriving === 0 || at === -1) return series;
  return series.with(at, { ...series[at]!, clicks: series[at]!.clicks + arriving });
}

/** The chart in a sentence, for screen readers. */
export function peakOf(series: readonly Bucket[]): Bucket | undefined {
  return series.reduce<Bucket | undefined>(
    (peak, bucket) => (peak === undefined || bucket.clicks > peak.clicks ? bucket : peak),
    undefined,
  );
}
