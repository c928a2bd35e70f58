/**
 * Exports single clicks of one link as lines of text, a piece at a time: a client that downloads a year of clicks, or
 * stops reading halfway, costs no more memory than one piece. Similar clicks take very little space in a log, so a
 * piece may end within one batch.
 */
import { type ClickBatch, clickAt, clickCount } from './click.ts';
import { dimensionOf, dimensions, valueAt, valuesOf } from './dimensions.ts';
import { type ClickLog, LogUnavailable } from './log.ts';
import { clockSlackMs, keptFrom } from './replay.ts';
import type { ExportCursor, ExportFilter, ExportPart } from './stats.ts';
import { type Filter, grainMs, type Scope, type TimeRange, type Warehouse } from './warehouse.ts';

/** Small, because clicks in the log are compressed to a tenth or less. */
const readBounds = { bytesMax: 64 * 1024, waitMaxMs: 0 };
const pieceChars = 256 * 1024;
/** Clicks that are stored this long after they happened were spilled. */
const lateMs = 24 * 60 * 60_000;

export async function exportPart(
  log: Pick<ClickLog, 'offsetsAt' | 'partitionsOf' | 'read'>,
  filter: ExportFilter,
  cursor: ExportCursor | undefined,
  forgottenBefore: number,
): Promise<ExportPart> {
  let text = cursor === undefined ? exportHead(filter.format) : '';
  const starts = await log.offsetsAt(filter.from - clockSlackMs);
  const partitions = (await log.partitionsOf([filter.code]))
    .map(({ name }) => name)
    .filter(name => starts.has(name))
    .sort();
  const partition = partitions.find(name => cursor === undefined || name >= cursor.partition);
  if (partition === undefined) return { text, next: undefined };
  const { position, clicks } =
    cursor?.partition === partition ? cursor : { position: starts.get(partition)!, clicks: 0 };
  const piece = (await log.read(new Map([[partition, position]]), readBounds)).get(partition);
  if (piece === undefined) throw new LogUnavailable(`${partition} cannot be read at ${position}`);
  const from = Math.max(filter.from, forgottenBefore);
  for (const { batch, offset, storedAt } of piece.items) {
    // Among clicks that are stored late, spilled ones come first: once they end, the rest need not be read.
    if (storedAt >= filter.to + lateMs && batch.at[0]! >= filter.to)
      return { text, next: following(partitions, partition) };
    const wanted = batch.links.map(({ code }) => code === filter.code);
    if (!wanted.includes(true)) continue;
    const passes = passingIn(batch, filter.filters ?? []);
    for (let index = offset === position ? clicks : 0; index < clickCount(batch); index += 1) {
      const at = batch.at[index]!;
      if (!wanted[batch.link[index]!] || at < from || at >= filter.to || !passes(index)) continue;
      text += exportLine(fieldsOf(batch, index), filter.format);
      if (text.length >= pieceChars)
        return { text, next: { partition, position: offset, clicks: index + 1 } };
    }
  }
  const isOver = piece.to <= position || piece.to >= piece.end;
  const next = isOver ? following(partitions, partition) : { partition, position: piece.to, clicks: 0 };
  return { text, next };
}

/** The latest time that a date can have; a quarter hour begins at it. */
const endOfTime = 8.64e15;
/** Since when the log has the clicks of a range; 0 if no earlier clicks of the range were counted. */
export async function exportCoverage(
  log: Pick<ClickLog, 'partitionsOf' | 'retention'>,
  warehouse: Pick<Warehouse, 'answer' | 'recent'>,
  { code, ownerId, from, to }: ExportFilter,
): Promise<number> {
  const partitions = new Set((await log.partitionsOf([code])).map(({ name }) => name));
  const kept = Math.min((await keptFrom(log, partitions)) ?? endOfTime, to, endOfTime);
  if (kept <= from) return 0;
  const scopes = [{ kind: 'link', code, ownerId }] as const;
  return (await hasClicks(warehouse, scopes, { from, to: kept })) ? kept : 0;
}

const quarterBefore = (at: number): number => Math.floor(at / grainMs.quarter) * grainMs.quarter;
const quarterFrom = (at: number): number => quarterBefore(at + grainMs.quarter - 1);

/** Whole quarter hours have counts; for a part of one, single clicks are read, or its whole count if none are kept. */
async function hasClicks(
  warehouse: Pick<Warehouse, 'answer' | 'recent'>,
  scopes: readonly Scope[],
  { from, to }: TimeRange,
): Promise<boolean> {
  const question = { scopes, filters: [], starts: [], breakdowns: [] };
  const areCounted = async (range: TimeRange): Promise<boolean> => {
    if (range.from >= range.to) return false;
    const { counts } = await warehouse.answer({ ...question, ...range });
    return counts.clicks + counts.bots > 0;
  };
  const whole = { from: quarterFrom(from), to: quarterBefore(to) };
  if (await areCounted(whole)) return true;
  const parts =
    whole.from > whole.to
      ? [{ from, to }]
      : [
          { from, to: whole.from },
          { from: whole.to, to },
        ];
  for (const part of parts.filter(each => each.from < each.to)) {
    const { clicks, coveredFrom } = await warehouse.recent({
      scopes,
      filters: [],
      ...part,
      skip: 0,
      limit: 1,
    });
    if (clicks.length > 0) return true;
    if (coveredFrom === 0) continue;
    if (await areCounted({ from: quarterBefore(part.from), to: quarterFrom(part.to) })) return true;
  }
  return false;
}

/** Which clicks of a batch meet all filters; each value of the batch is compared once. */
function passingIn(batch: ClickBatch, filters: readonly Filter[]): (index: number) => boolean {
  const columns = filters.map(({ dimension, values, isExcluded }) => {
    const row = dimensionOf(dimension);
    const isPassing = valuesOf(batch, row).map(value => values.includes(value) !== isExcluded);
    return { entries: batch[row.of], isPassing };
  });
  return index => columns.every(({ entries, isPassing }) => isPassing[entries[index]!]);
}

/** The cursor after a partition: the next one, read from where the range begins. */
function following(partitions: readonly string[], partition: string): ExportCursor | undefined {
  const next = partitions[partitions.indexOf(partition) + 1];
  return next === undefined ? undefined : { partition: next, position: 0, clicks: 0 };
}

/** The exported fields of a click. The visitor's hash is valid for one day and reveals nothing beyond it. */
const firstColumns = [
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
];
const exported = dimensions.filter(({ isExported }) => isExported);
/** Dimensions that were added later come last. */
const columns = [...new Set([...firstColumns, ...exported.map(({ name }) => name)])];

/** By column. */
export type ExportFields = Readonly<Record<string, string>>;

/** The exported dimensions as columns of ClickHouse. */
export const exportedColumns = exported.map(({ name, column }) => `${column} AS ${name}`);

type Format = ExportFilter['format'];

/** The text before the first line. */
export function exportHead(format: Format): string {
  return format === 'csv' ? `${columns.join(',')}\r\n` : '';
}

export function exportLine(fields: ExportFields, format: Format): string {
  const values = columns.map(column => fields[column] ?? '');
  if (format === 'csv') return `${values.map(csvField).join(',')}\r\n`;
  return `${JSON.stringify(Object.fromEntries(columns.map((column, index) => [column, values[index]])))}\n`;
}

export function fieldsOf(batch: ClickBatch, index: number): ExportFields {
  const click = clickAt(batch, index);
  return {
    at: new Date(click.at).toISOString(),
    code: click.code,
    kind: click.kind,
    visitor: click.visitor,
    city: click.city,
    referrer: click.referrer.referrer,
    userAgent: click.agent.userAgent,
    signal: click.signal,
    ...Object.fromEntries(exported.map(dimension => [dimension.name, valueAt(batch, dimension, index)])),
  };
}

/** Quoted where needed; a leading sign gets an apostrophe, because spreadsheets would run it as a formula. */
function csvField(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
