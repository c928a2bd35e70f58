/** Single clicks as lines of text, for whoever downloads them, wherever they were kept. */
import type { Click } from './click.ts';
import type { ExportFilter } from './reports.ts';

/** What leaves the house of a click. The visitor's hash is good for one day and tells nothing beyond it. */
const columns = [
  'at',
  'code',
  'kind',
  'visitor',
  'country',
  'city',
  'device',
  'browser',
  'os',
  'referrer',
  'userAgent',
  'signal',
] as const;
export type ExportFields = Readonly<Record<(typeof columns)[number], string>>;

type Format = ExportFilter['format'];

/** What stands before the first line. */
export function exportHead(format: Format): string {
  return format === 'csv' ? `${columns.join(',')}\r\n` : '';
}

export function exportLine(fields: ExportFields, format: Format): string {
  if (format === 'ndjson') return `${JSON.stringify(fields)}\n`;
  return `${columns.map(column => csvField(fields[column])).join(',')}\r\n`;
}

export function fieldsOf(click: Click): ExportFields {
  return {
    at: new Date(click.at).toISOString(),
    code: click.code,
    kind: click.kind,
    visitor: click.visitor,
    country: click.country,
    city: click.city,
    device: click.agent.device,
    browser: click.agent.browser,
    os: click.agent.os,
    referrer: click.referrer.referrer,
    userAgent: click.agent.userAgent,
    signal: click.signal,
  };
}

/** Quoted where needed; a leading sign gets an apostrophe, because spreadsheets would run it as a formula. */
function csvField(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
