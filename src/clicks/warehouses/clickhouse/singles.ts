/**
 * Which single clicks a question is about, as conditions. Clicks are sorted by owner, link and time, so that those of a
 * link, an owner or a tag lie together.
 */
import { type ClickHouse, quoted, quotedList } from '../../../engines/clickhouse/clickhouse.ts';
import { type DimensionName, dimensionOf } from '../../dimensions.ts';
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
