/** Where minutes, hours and days begin in a time zone, also across changes of its offset. */
export type Interval = 'minute' | 'hour' | 'day';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const intervalMs: Record<Interval, number> = { minute: minuteMs, hour: hourMs, day: dayMs };

export class TooManyBucketsError extends Error {
  override readonly name = 'TooManyBucketsError';
}

/** Starts of the buckets that cover [from, to); the first one begins at or before `from`. */
export function bucketStarts(
  from: number,
  to: number,
  interval: Interval,
  timeZone: string,
  bucketsMax: number,
): number[] {
  if (bucketCount(from, to, interval) > bucketsMax)
    throw new TooManyBucketsError(`more than ${bucketsMax} buckets`);
  const starts: number[] = [];
  for (
    let start = startOf(from, interval, timeZone);
    start < to;
    start = nextStart(start, interval, timeZone)
  ) {
    starts.push(start);
  }
  return starts;
}

/**
 * How many buckets lie between two of their boundaries, by arithmetic alone. Clock changes make a range of
 * days an hour longer or shorter, and a range of hours half an hour longer where they are half an hour.
 */
export function bucketCount(from: number, to: number, interval: Interval): number {
  const count = (to - from) / intervalMs[interval];
  return interval === 'day' ? Math.round(count) : Math.ceil(count);
}

/** The start of the bucket that contains `at`. */
export function startOf(at: number, interval: Interval, timeZone: string): number {
  const offset = zoneOffsetMs(at, timeZone);
  const start = at - modulo(at + offset, intervalMs[interval]);
  // The offset may have changed since the bucket began.
  return interval === 'day' ? start + offset - zoneOffsetMs(start, timeZone) : start;
}

/** The end of the bucket that contains `at`. */
export function endOf(at: number, interval: Interval, timeZone: string): number {
  return nextStart(startOf(at, interval, timeZone), interval, timeZone);
}

/**
 * The start of the last `count` buckets before `end`, which is a bucket boundary. Clock changes add up to a few hours
 * at most, so half a day into a day counted back by the clock is always that day.
 */
export function startOfLast(count: number, end: number, interval: Interval, timeZone: string): number {
  if (interval === 'day') return startOf(end - count * dayMs + 12 * hourMs, 'day', timeZone);
  const start = end - count * intervalMs[interval];
  const aligned = startOf(start, interval, timeZone);
  // Where clocks change by half an hour, hours before the change begin half an hour apart from those after it.
  return aligned === start ? start : aligned + intervalMs[interval];
}

function nextStart(start: number, interval: Interval, timeZone: string): number {
  if (interval !== 'day') return start + intervalMs[interval];
  // A local day has 23 to 25 hours: its noon is always inside it, and so is the next day's.
  return startOf(start + dayMs + hourMs * 12, 'day', timeZone);
}

/**
 * Cached by name in lower case: the runtime ignores case, any client may send a name, and each spelling would cost as
 * much as another zone. Past the limit all are evicted and created again, which takes microseconds.
 */
const formats = new Map<string, Intl.DateTimeFormat>();
const formatsMax = 512;
/** Offsets such as `+01:07` are zones to the runtime too, but the counts are kept by quarter hours. */
const namePattern = /^[A-Za-z][A-Za-z0-9_+/-]*$/;
const quarterMs = 15 * minuteMs;
/** The time at which the offset of a zone is checked; long ago some were odd. */
const sampleTime = Date.UTC(2026, 0, 1);

/** Milliseconds to add to UTC to get local time. */
export function zoneOffsetMs(at: number, timeZone: string): number {
  if (timeZone === 'UTC') return 0;
  const parts = Object.fromEntries(
    formatFor(timeZone)
      .formatToParts(at)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const local = Date.UTC(
    parts.year!,
    parts.month! - 1,
    parts.day!,
    parts.hour! % 24,
    parts.minute!,
    parts.second!,
  );
  return local - Math.floor(at / 1_000) * 1_000;
}

/** Whether it is the name of a zone whose hours and days consist of whole quarter hours. */
export function isTimeZone(name: string): boolean {
  if (!namePattern.test(name)) return false;
  try {
    return zoneOffsetMs(sampleTime, name) % quarterMs === 0;
  } catch {
    return false;
  }
}

function formatFor(timeZone: string): Intl.DateTimeFormat {
  const name = timeZone.toLowerCase();
  const known = formats.get(name);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  if (formats.size >= formatsMax) formats.clear();
  formats.set(name, format);
  return format;
}

const modulo = (value: number, divisor: number): number => ((value % divisor) + divisor) % divisor;
