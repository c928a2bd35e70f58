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
  if ((to - from) / intervalMs[interval] > bucketsMax)
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

/** The beginning of the bucket that holds `at`. */
export function startOf(at: number, interval: Interval, timeZone: string): number {
  const offset = zoneOffsetMs(at, timeZone);
  const start = at - modulo(at + offset, intervalMs[interval]);
  // The offset may have changed since the bucket began.
  return interval === 'day' ? start + offset - zoneOffsetMs(start, timeZone) : start;
}

/** The end of the bucket that holds `at`. */
export function endOf(at: number, interval: Interval, timeZone: string): number {
  return nextStart(startOf(at, interval, timeZone), interval, timeZone);
}

function nextStart(start: number, interval: Interval, timeZone: string): number {
  if (interval !== 'day') return start + intervalMs[interval];
  // A local day has 23 to 25 hours: its noon is always inside it, and so is the next day's.
  return startOf(start + dayMs + hourMs * 12, 'day', timeZone);
}

const formats = new Map<string, Intl.DateTimeFormat>();

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

export function isTimeZone(name: string): boolean {
  try {
    formatFor(name);
    return true;
  } catch {
    return false;
  }
}

function formatFor(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
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
  formats.set(timeZone, format);
  return format;
}

const modulo = (value: number, divisor: number): number => ((value % divisor) + divisor) % divisor;
