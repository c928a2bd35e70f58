/** Numbers, times and addresses as people read them. */
import { browserClock } from '../../../base/browser-clock.ts';
import type { Interval } from './api/types.ts';

const locale = 'en';
const plain = new Intl.NumberFormat(locale);
const compact = new Intl.NumberFormat(locale, { notation: 'compact', maximumFractionDigits: 1 });
const percent = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 0 });
const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto', style: 'short' });
const regions = new Intl.DisplayNames(locale, { type: 'region', fallback: 'code' });
const languages = new Intl.DisplayNames(locale, { type: 'language', fallback: 'code' });

const dayFormat = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short', year: 'numeric' });
const momentFormat = new Intl.DateTimeFormat(locale, {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
});
const clockFormat = new Intl.DateTimeFormat(locale, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});
const bucketFormats: Readonly<Record<Interval, Intl.DateTimeFormat>> = {
  minute: new Intl.DateTimeFormat(locale, {
    day: 'numeric',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  }),
  hour: new Intl.DateTimeFormat(locale, {
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  }),
  day: new Intl.DateTimeFormat(locale, { weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' }),
};

export const formatNumber = (value: number): string => plain.format(value);
/** Short from ten thousand on: 12.3K. */
export const formatCompact = (value: number): string => (value < 10_000 ? plain : compact).format(value);
export const formatPercent = (share: number): string =>
  share > 0 && share < 0.01 ? '<1%' : percent.format(share);
export const formatDay = (time: string | number): string => dayFormat.format(new Date(time));
export const formatMoment = (time: string | number): string => momentFormat.format(new Date(time));
export const formatClock = (time: string | number): string => clockFormat.format(new Date(time));
export const formatBucket = (startMs: number, interval: Interval): string =>
  bucketFormats[interval].format(new Date(startMs));

const dateFromMs = 30 * 86_400_000;
const units: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
];

/** “3 hr. ago”, “in 2 days”; beyond a month, the date. */
export function formatAgo(time: string | number, nowMs = browserClock.now()): string {
  const differenceMs = new Date(time).getTime() - nowMs;
  if (Math.abs(differenceMs) > dateFromMs) return formatDay(time);
  for (const [unit, unitMs] of units) {
    if (Math.abs(differenceMs) >= unitMs) return relative.format(Math.round(differenceMs / unitMs), unit);
  }
  return relative.format(0, 'second');
}

export function countryName(code: string): string | undefined {
  if (!/^[A-Z]{2}$/.test(code)) return undefined;
  return regions.of(code);
}

/** What is not the tag of a language is shown as it is: for some, the runtime would throw. */
export function languageName(tag: string): string {
  return /^[a-z]{2,3}(?:-[A-Z]{2})?$/.test(tag) ? (languages.of(tag) ?? tag) : tag;
}

export function withoutScheme(address: string): string {
  return address.replace(/^https?:\/\//, '').replace(/\/$/, '');
}

export function hostOf(address: string): string {
  return URL.parse(address)?.hostname.replace(/^www\./, '') ?? address;
}

/** People leave the scheme out; a bare host gets https, anything else is left to the server's validation. */
export function withScheme(text: string): string {
  const trimmed = text.trim();
  return /^[^\s/:?#]+\.[^\s/:?#]+(?=$|[/:?#])/.test(trimmed) ? `https://${trimmed}` : trimmed;
}

/** Whether pasting this means shortening it. */
export function isWebAddress(text: string): boolean {
  const trimmed = text.trim();
  return /^https?:\/\/\S+$/i.test(trimmed) && URL.canParse(trimmed);
}
