/** Links as tables: the export of the shown links, and the import of pasted or dropped text. */
import { browserClock } from '../../../../base/clock.ts';
import { texts } from '../../texts.ts';
import type { LinkFields, LinkTotal, LinkView } from '../api/types.ts';
import { isWebAddress, withScheme } from '../format.ts';
import { aliasShape } from './link-form.ts';

/** A cell that a spreadsheet would take for a formula starts with a quote. */
function csvCell(value: string | number | null): string {
  const text = value === null ? '' : String(value);
  const safe = /^[=+\-@\t\r]/.test(text) && typeof value !== 'number' ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export const csvOf = (rows: readonly (readonly (string | number | null)[])[]): string =>
  rows.map(row => `${row.map(csvCell).join(',')}\r\n`).join('');

/** Without a byte order mark, spreadsheets assume their own character set. */
export const csvFile = (text: string): Blob => new Blob(['\uFEFF', text], { type: 'text/csv' });

const clicksIn = (link: LinkView, totals: ReadonlyMap<string, LinkTotal>): number | null =>
  totals.get(link.shortCode)?.clicks ?? link.clicks;

export function linksAsCsv(links: readonly LinkView[], totals: ReadonlyMap<string, LinkTotal>): string {
  const head = ['shortUrl', 'longUrl', 'title', 'tags', 'status', 'clicks', 'createdAt', 'expiresAt'];
  const rows = links.map(link => [
    link.shortUrl,
    link.longUrl,
    link.title,
    link.tags.join(', '),
    link.status,
    clicksIn(link, totals),
    link.createdAt,
    link.expiresAt,
  ]);
  return csvOf([head, ...rows]);
}

export const linksAsJson = (links: readonly LinkView[], totals: ReadonlyMap<string, LinkTotal>): string =>
  `${JSON.stringify(
    links.map(link => ({ ...link, clicks: clicksIn(link, totals) })),
    null,
    2,
  )}\n`;

/** A row of an import: the link that it would create, and the problem that prevents it. */
export interface ImportRow {
  /** The number of its first line in the text, from 1. */
  readonly number: number;
  readonly fields: LinkFields & { readonly longUrl: string };
  readonly problem: string | undefined;
}

export const importMax = 10_000;

const columns: Readonly<Record<string, 'longUrl' | 'alias' | 'title' | 'tags' | 'expiresAt'>> = {
  longurl: 'longUrl',
  url: 'longUrl',
  destination: 'longUrl',
  link: 'longUrl',
  originalurl: 'longUrl',
  alias: 'alias',
  customalias: 'alias',
  slug: 'alias',
  code: 'alias',
  shortcode: 'alias',
  title: 'title',
  name: 'title',
  tags: 'tags',
  tag: 'tags',
  expires: 'expiresAt',
  expiresat: 'expiresAt',
  expiry: 'expiresAt',
};
type Column = (typeof columns)[string];

const usualOrder: readonly Column[] = ['longUrl', 'alias', 'title', 'tags', 'expiresAt'];

/** One call of an import. */
interface ImportCall {
  readonly rows: readonly ImportRow[];
  /** The same for the same rows only, so that a call whose outcome is unknown can be repeated. */
  readonly name: string;
}

/**
 * The calls that create the rows without a link. A row is in the same call in every attempt, and calls only get smaller
 * as links are created, so their size tells what they contain.
 */
export function callsOf(
  rows: readonly ImportRow[],
  perCall: number,
  isCreated: (row: ImportRow) => boolean,
): ImportCall[] {
  const calls: ImportCall[] = [];
  for (let from = 0; from < rows.length; from += perCall) {
    const left = rows.slice(from, from + perCall).filter(row => !isCreated(row));
    if (left.length > 0) calls.push({ rows: left, name: `${from}-${left.length}` });
  }
  return calls;
}

/** Addresses, one per line, or a table with or without a row of names. */
export function readTable(text: string): ImportRow[] {
  const separator = separatorOf(text);
  const lines = cellsOf(text.replace(/^\uFEFF/, ''), separator).filter(({ cells }) =>
    cells.some(cell => cell !== ''),
  );
  const named = lines[0]?.cells.map(columnNamed);
  const hasNames = named?.includes('longUrl') ?? false;
  const order = hasNames ? named! : usualOrder;
  const seen = new Map<string, number>();
  const first = hasNames ? 1 : 0;
  // One row more than can be imported shows that there are too many.
  return lines.slice(first, first + importMax + 1).map(({ number, cells }) => {
    const cell = (column: Column): string => cells[order.indexOf(column)] ?? '';
    return rowOf(number, cell, seen);
  });
}

function rowOf(number: number, cell: (column: Column) => string, seen: Map<string, number>): ImportRow {
  const longUrl = withScheme(cell('longUrl'));
  const [alias, title, expiry] = [cell('alias'), cell('title'), cell('expiresAt')];
  const tags = cell('tags')
    .split(/[,;|]/)
    .map(tag => tag.trim())
    .filter(tag => tag !== '');
  const expiresMs = momentIn(expiry);
  const twin = alias === '' ? undefined : seen.get(alias);
  if (alias !== '' && twin === undefined) seen.set(alias, number);
  const { problems } = texts.importing;
  const checks: readonly (readonly [boolean, string])[] = [
    [longUrl === '', problems.empty],
    // Rejects text with a space, which may be two cells or a sentence; a browser would encode the space.
    [!isWebAddress(longUrl), problems.address],
    [alias !== '' && !aliasShape.test(alias), problems.alias],
    [twin !== undefined, problems.aliasTwice(String(twin))],
    [title.length > 300, problems.title],
    [tags.length > 20 || tags.some(tag => tag.length > 50), problems.tags],
    [expiry !== '' && !(expiresMs > browserClock.now()), problems.expiry],
  ];
  return {
    number,
    fields: {
      longUrl,
      ...(alias !== '' && { customAlias: alias }),
      ...(title !== '' && { title }),
      ...(tags.length > 0 && { tags }),
      // In the format of the API.
      ...(!Number.isNaN(expiresMs) && { expiresAt: new Date(expiresMs).toISOString() }),
    },
    problem: checks.find(([isWrong]) => isWrong)?.[1],
  };
}

const isoMoment = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?$/i;

/**
 * Accepts only ISO 8601, because a date such as 03/04/2027 is ambiguous; NaN for anything else. A time without an offset
 * is local, and a day alone begins at midnight.
 */
function momentIn(text: string): number {
  if (!isoMoment.test(text)) return Number.NaN;
  return Date.parse(text.length === 10 ? `${text}T00:00` : text.replace(' ', 'T'));
}

/**
 * Spreadsheets copy with tabs. Addresses may contain commas and semicolons, so these separate cells only below a row of
 * names; without one, each line is an address. The first line decides: a tab further down may be part of a text.
 */
function separatorOf(text: string): string | undefined {
  const first = text.trimStart().split(/\r?\n/, 1)[0] ?? '';
  if (first.includes('\t')) return '\t';
  return [',', ';'].find(separator =>
    first.split(separator).some(cell => columnNamed(cell.replaceAll('"', '')) === 'longUrl'),
  );
}

const columnNamed = (cell: string): Column | undefined =>
  columns[cell.toLowerCase().replaceAll(/[^a-z]/g, '')];

interface Line {
  readonly number: number;
  readonly cells: string[];
}

/** Cells may be quoted, and quoted ones may contain anything. */
function cellsOf(text: string, separator: string | undefined): Line[] {
  if (separator === undefined)
    return text.split(/\r?\n/).map((line, at) => ({ number: at + 1, cells: [line.trim()] }));
  const lines: Line[] = [];
  let [cells, cell, isQuoted, number, line] = [[] as string[], '', false, 1, 1];
  const endCell = (): void => {
    cells.push(cell.trim());
    cell = '';
  };
  const endLine = (): void => {
    endCell();
    lines.push({ number, cells });
    cells = [];
    number = line;
  };
  for (let at = 0; at < text.length; at += 1) {
    const letter = text[at]!;
    if (letter === '\n') line += 1;
    if (isQuoted) {
      if (letter !== '"') cell += letter;
      else if (text[at + 1] === '"') {
        cell += '"';
        at += 1;
      } else isQuoted = false;
    } else if (letter === '"' && cell.trim() === '') {
      cell = '';
      isQuoted = true;
    } else if (letter === separator) endCell();
    else if (letter === '\n') endLine();
    else if (letter !== '\r') cell += letter;
  }
  endLine();
  return lines;
}
