/**
 * Which single clicks a question is about, as conditions. Clicks are sorted by owner, link and time, so that those of a
 * link, an owner or a tag lie together. And what an export reads of them.
 */
import { type ClickHouse, quoted, quotedList } from '../../../engines/clickhouse/clickhouse.ts';
import { type DimensionName, dimensionOf } from '../../dimensions.ts';
import { type ExportFields, exportedColumns, exportHead, exportLine } from '../../export.ts';
import type { ExportCursor, ExportFilter, ExportPart } from '../../stats.ts';
import type { Filter, Scope, TimeRange } from '../../warehouse.ts';
import { tableName } from './columns.ts';
import type { Generation } from './upgrade.ts';

/** The columns of single clicks where a condition holds. */
export function singlesText({ number, hasEarlier }: Generation, columns: string, condition: string): string {
  const select = (table: 'clicks' | 'earlier'): string =>
    `SELECT ${columns} FROM ${tableName(table, number)} WHERE ${condition}`;
  return hasEarlier ? `${select('clicks')} UNION ALL ${select('earlier')}` : select('clicks');
}

export interface ScopeConditions {
  /** True for clicks of any of the scopes. */
  readonly any: string;
  /** In how many of the scopes a click is, and in how many that list links. */
  readonly weight: string;
  readonly linkWeight: string;
}

/** Clicks of a link before the time that its owner deleted them do not count for the link. */
export type Marks = ReadonlyMap<string, number>;

export function scopeConditions(scopes: readonly Scope[], marks: Marks): ScopeConditions {
  const ofLinks = [...Map.groupBy(scopes.filter(isLink), ({ ownerId }) => ownerId ?? '')].map(
    ([owner, links]) => linksCondition(owner, new Set(links.map(({ code }) => code)), marks),
  );
  const ofOthers = [...new Set(scopes.filter(scope => !isLink(scope)).map(ownerCondition))];
  const all = [...ofLinks, ...ofOthers];
  const sumOf = (conditions: readonly string[]): string =>
    all.length === 1 ? String(conditions.length) : conditions.join(' + ') || '0';
  return { any: `(${all.join(' OR ') || '0'})`, weight: sumOf(all), linkWeight: sumOf(ofOthers) };
}

type LinkScope = Extract<Scope, { kind: 'link' }>;
const isLink = (scope: Scope): scope is LinkScope => scope.kind === 'link';

function linksCondition(owner: string, codes: ReadonlySet<string>, marks: Marks): string {
  const deleted = [...codes].flatMap(code => {
    const mark = marks.get(code);
    return mark === undefined ? [] : [`AND NOT (code = ${quoted(code)} AND at < ${timeText(mark)})`];
  });
  return `(owner = ${quoted(owner)} AND code IN ${quotedList([...codes])} ${deleted.join(' ')})`;
}

function ownerCondition(scope: Scope): string {
  const ofTag = scope.kind === 'tag' ? ` AND has(tags, ${quoted(scope.tag)})` : '';
  return `(owner = ${quoted(scope.ownerId ?? '')}${ofTag})`;
}

export async function marksOf(clickHouse: ClickHouse, scopes: readonly Scope[]): Promise<Marks> {
  const codes = scopes.filter(isLink).map(({ code }) => code);
  if (codes.length === 0) return new Map();
  const rows = await clickHouse.rows<{ code: string; at: number }>(
    `SELECT code, max(at_ms) AS at FROM forgotten WHERE code IN ${quotedList(codes)} GROUP BY code`,
  );
  return new Map(rows.map(({ code, at }) => [code, at]));
}

/** Empty, or conditions that each begin with AND. */
export const filterConditions = (filters: readonly Filter[]): string =>
  filters.map(filter => `AND ${filterCondition(filter)}`).join(' ');

function filterCondition({ dimension, values, isExcluded }: Filter): string {
  if (values.length === 0) return isExcluded ? '1' : '0';
  return `${columnOf(dimension)} ${isExcluded ? 'NOT IN' : 'IN'} ${quotedList(values)}`;
}

/** The kind of people's clicks is no bot's. */
const columnOf = (dimension: DimensionName): string =>
  dimension === 'bot' ? `if(kind = 'human', '', toString(kind))` : dimensionOf(dimension).column;

/** In any of some ranges. */
export const whenText = (ranges: readonly TimeRange[]): string =>
  `(${ranges.map(({ from, to }) => `(at >= ${timeText(from)} AND at < ${timeText(to)})`).join(' OR ') || '0'})`;

/** As much as a column of times can be compared with. */
const latestMs = Date.UTC(2200, 0);
export const timeText = (at: number): string =>
  `fromUnixTimestamp64Milli(${Math.min(latestMs, Math.max(0, Math.floor(at)))}, 'UTC')`;

/** About a quarter of a megabyte of text. */
const pieceClicks = 1_000;

interface Row {
  readonly atMs: number;
  readonly producer: string;
  readonly sequence: number;
  readonly [field: string]: string | number;
}

/**
 * Single clicks of one link, as lines of text, a piece at a time, in the order in which they happened. A piece
 * continues behind the last click of the one before, so nothing is kept for a client that reads slowly or stops.
 */
export async function exportPart(
  clickHouse: ClickHouse,
  generation: Generation,
  filter: ExportFilter,
  cursor: ExportCursor | undefined,
  forgottenBefore: number,
): Promise<ExportPart> {
  const from = Math.max(filter.from, forgottenBefore, cursor?.position ?? 0);
  const ofLink = `code = ${quoted(filter.code)} AND at >= ${timeText(from)} AND at < ${timeText(filter.to)} ${filterConditions(filter.filters ?? [])}`;
  const owners = await clickHouse.rows<{ owner: string }>(
    `SELECT DISTINCT owner FROM (${singlesText(generation, 'owner', ofLink)})`,
  );
  // Where the last piece ended: a time, and the producer of the click with its number.
  const behind =
    cursor === undefined
      ? ''
      : `AND (at, producer, sequence) > (${timeText(cursor.position)}, ${quoted(cursor.partition)}, ${cursor.clicks})`;
  const columns = `at, code, kind, leftPad(lower(hex(visitor)), 16, '0') AS visitor,
    city, referrer, agent AS userAgent, signal, producer, sequence, ${exportedColumns.join(', ')}`;
  // With one owner, clicks lie in this order.
  const ofOwner =
    owners.length === 1
      ? `owner = ${quoted(owners[0]!.owner)}`
      : `owner IN ${quotedList(owners.map(({ owner }) => owner))}`;
  const piece = `ORDER BY at, producer, sequence LIMIT ${pieceClicks}`;
  const rows = await clickHouse.rows<Row>(`
    SELECT toUnixTimestamp64Milli(at) AS atMs, * EXCEPT (at)
    FROM (${singlesText(generation, columns, `${ofOwner} AND ${ofLink} ${behind} ${piece}`)}) ${piece}`);
  const lines = rows.map(({ atMs, producer: _, sequence: __, ...fields }) =>
    exportLine({ at: new Date(atMs).toISOString(), ...(fields as ExportFields) }, filter.format),
  );
  const last = rows.length === pieceClicks ? rows.at(-1) : undefined;
  return {
    text: (cursor === undefined ? exportHead(filter.format) : '') + lines.join(''),
    next: last && { partition: last.producer, position: last.atMs, clicks: last.sequence },
  };
}
