/** Numbers, times and addresses as people read them. */
import { browserClock } from '../../../base/clock.ts';
import { language } from './language.ts';
import { timeZone } from './site.ts';

/** Made once for each language, when it is first needed. */
export function perLanguage<Format>(make: (locale: string) => Format): () => Format {
  const made = new Map<string, Format>();
  return () => {
    const locale = language.get();
    const known = made.get(locale);
    if (known !== undefined) return known;
    const format = make(locale);
    made.set(locale, format);
    return format;
  };
}

const plain = perLanguage(locale => new Intl.NumberFormat(locale));
const compact = perLanguage(
  locale => new Intl.NumberFormat(locale, { notation: 'compact', maximumFractionDigits: 1 }),
);
const percent = perLanguage(
  locale => new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 0 }),
);
const relative = perLanguage(
  locale => new Intl.RelativeTimeFormat(locale, { numeric: 'auto', style: 'short' }),
);
const regions = perLanguage(locale => new Intl.DisplayNames(locale, { type: 'region', fallback: 'code' }));
const languages = perLanguage(
  locale => new Intl.DisplayNames(locale, { type: 'language', fallback: 'code' }),
);

const time = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
const dayAndMonth = { day: 'numeric', month: 'short' } as const;
/** Forms of a moment in a time zone. */
const zonedForms = {
  clock: { ...time, second: '2-digit' },
  moment: { ...dayAndMonth, year: 'numeric', ...time },
  shortMoment: { ...dayAndMonth, ...time, second: '2-digit' },
  calendarDay: { ...dayAndMonth, year: 'numeric' },
  minute: { ...dayAndMonth, ...time },
  hour: { weekday: 'short', ...dayAndMonth, ...time },
  day: { weekday: 'short', ...dayAndMonth, year: 'numeric' },
  tickTime: time,
  tickDay: dayAndMonth,
  tickMonth: { month: 'short', year: '2-digit' },
} as const satisfies Readonly<Record<string, Intl.DateTimeFormatOptions>>;
const zonedFormats = new Map<string, Intl.DateTimeFormat>();

/** Formats are slow to make and quick to use; a user looks at a few zones. */
export function formatIn(form: keyof typeof zonedForms, time: string | number, timeZone: string): string {
  const locale = language.get();
  const name = `${locale} ${form} ${timeZone}`;
  const format = zonedFormats.get(name) ?? new Intl.DateTimeFormat(locale, { ...zonedForms[form], timeZone });
  zonedFormats.set(name, format);
  return format.format(new Date(time));
}

export const formatNumber = (value: number): string => plain().format(value);
/** Short from ten thousand on: 12.3K. */
export const formatCompact = (value: number): string => (value < 10_000 ? plain : compact)().format(value);
export const formatPercent = (share: number): string =>
  share > 0 && share < 0.01 ? `<${percent().format(0.01)}` : percent().format(share);
/** In the browser's time zone: only statistics can be shown in another one. */
export const formatDay = (time: string | number): string => formatIn('calendarDay', time, timeZone);
export const formatMoment = (time: string | number): string => formatIn('moment', time, timeZone);

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
    if (Math.abs(differenceMs) >= unitMs) return relative().format(Math.round(differenceMs / unitMs), unit);
  }
  return relative().format(0, 'second');
}

export function countryName(code: string): string | undefined {
  if (!/^[A-Z]{2}$/.test(code)) return undefined;
  return regions().of(code);
}

/** Any other text is returned unchanged: for some texts, the runtime would throw. */
export function languageName(tag: string): string {
  return /^[a-z]{2,3}(?:-[A-Z]{2})?$/.test(tag) ? (languages().of(tag) ?? tag) : tag;
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

/** Whether pasting this means shortening several: each line begins with an address. */
export function areWebAddresses(text: string): boolean {
  const lines = text.split(/\r?\n/).filter(line => line.trim() !== '');
  return lines.length > 1 && lines.every(line => isWebAddress(line.trim().split(/\s/, 1)[0] ?? ''));
}
