/** The ranges of a request for statistics: the one that is shown, and the one it is compared with. */
import { Problem } from '../base/errors.ts';
import { bucketCount, endOf, type Interval, startOf, startOfLast, zoneOffsetMs } from '../base/zone.ts';
import { readBucketsMax, seriesBucketsMax } from '../clicks/stats.ts';
import type { TimeRange } from '../clicks/warehouse.ts';

const dayMs = 24 * 60 * 60_000;
/** Buckets of a range whose start is not given: 30 days, or a day of minutes. The one in progress is the last of them. */
const defaultBuckets: Readonly<Record<Interval, number>> = { minute: 24 * 60, hour: 30 * 24, day: 30 };

export interface AskedRange {
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly interval: Interval;
  readonly timeZone: string;
  readonly compare?: 'previous' | 'year' | undefined;
  readonly compareFrom?: number | undefined;
  readonly compareTo?: number | undefined;
}

/** The limits of the length of a range. */
export interface RangeBounds {
  /** How many links are added up. */
  readonly scopes: number;
  readonly now: number;
  /** Days for which minutes are kept. */
  readonly minuteDays: number;
}

const invalidRange = (field: string, detail: string): Problem =>
  new Problem('invalid_request', { detail, fields: { field } });

/** Whole buckets around the requested range. They are only counted here; the thread that answers iterates over them. */
export function rangeOf(asked: AskedRange, bounds: RangeBounds): TimeRange {
  const { from, to, interval, timeZone } = asked;
  const { now } = bounds;
  if (from !== undefined && from >= (to ?? now))
    throw invalidRange('from', 'The range must end after it starts.');
  const end = endOf(to === undefined ? now : to - 1, interval, timeZone);
  const start = startOf(
    from ?? startOfLast(defaultBuckets[interval], end, interval, timeZone),
    interval,
    timeZone,
  );
  return bounded('from', { from: start, to: end }, interval, bounds);
}

/** The range, unless it is too long; `field` is what to change then. */
function bounded(
  field: string,
  range: TimeRange,
  interval: Interval,
  { scopes, now, minuteDays }: RangeBounds,
): TimeRange {
  if (interval === 'minute' && range.from < startOf(now - minuteDays * dayMs, 'minute', 'UTC'))
    throw invalidRange(field, `Minutes are kept for ${minuteDays} days; ask for hours.`);
  const buckets = bucketCount(range.from, range.to, interval);
  if (buckets > seriesBucketsMax)
    throw invalidRange(field, `That is more than ${seriesBucketsMax} buckets; ask for wider ones.`);
  if (buckets * scopes > readBucketsMax) {
    throw invalidRange(
      field,
      `That is more than ${readBucketsMax} buckets over ${scopes} links; ask for wider ones.`,
    );
  }
  return range;
}

/** The second range, in whole buckets as well. */
export function comparisonOf(
  asked: AskedRange,
  range: TimeRange,
  bounds: RangeBounds,
): TimeRange | undefined {
  const { compare, compareFrom: from, compareTo: to, interval, timeZone } = asked;
  const within = (field: string, compared: TimeRange): TimeRange => {
    if (compared.from < 0) throw invalidRange(field, 'The range to compare with begins before 1970.');
    return bounded(field, compared, interval, bounds);
  };
  if (compare !== undefined) {
    if ((from ?? to) !== undefined)
      throw invalidRange('compare', 'Name “compare”, or “compareFrom” and “compareTo”.');
    return within('compare', compare === 'previous' ? previousOf(range, asked) : yearBefore(range, asked));
  }
  if (from === undefined && to === undefined) return undefined;
  if (from === undefined || to === undefined) {
    const missing = from === undefined ? 'compareFrom' : 'compareTo';
    throw invalidRange(missing, `“${missing}” is missing.`);
  }
  if (from >= to) throw invalidRange('compareFrom', 'The range to compare with must end after it starts.');
  return within('compareFrom', {
    from: startOf(from, interval, timeZone),
    to: endOf(to - 1, interval, timeZone),
  });
}

/** The same number of buckets, just before the range. */
function previousOf({ from, to }: TimeRange, { interval, timeZone }: AskedRange): TimeRange {
  return { from: startOfLast(bucketCount(from, to, interval), from, interval, timeZone), to: from };
}

/** From the first bucket to the last, each a year earlier by the calendar of the zone. */
function yearBefore({ from, to }: TimeRange, { interval, timeZone }: AskedRange): TimeRange {
  const earlier = (at: number): number => {
    const local = new Date(at + zoneOffsetMs(at, timeZone));
    const month = local.getUTCMonth();
    local.setUTCFullYear(local.getUTCFullYear() - 1);
    // The 29th of February is the 28th in other years.
    if (local.getUTCMonth() !== month) local.setUTCDate(0);
    const time = local.getTime();
    const offset = zoneOffsetMs(time - zoneOffsetMs(time, timeZone), timeZone);
    // Noon is on the same day whatever the clocks do.
    return startOf(time - offset + (interval === 'day' ? dayMs / 2 : 0), interval, timeZone);
  };
  return {
    from: earlier(from),
    to: endOf(earlier(startOf(to - 1, interval, timeZone)), interval, timeZone),
  };
}
