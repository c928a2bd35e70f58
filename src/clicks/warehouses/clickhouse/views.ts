/** What the views on incoming clicks select for each table. */
import { type Dimension, dimensionOf, dimensions } from '../../dimensions.ts';
import {
  clickColumns,
  dimensionNumber,
  groupedBy,
  rankIn,
  tableName,
  type ViewedTable,
  viewedTables,
  viewName,
  visitorsKept,
} from './columns.ts';

const counts = `countIf(kind = 'human') AS clicks, countIf(kind != 'human') AS bots,
      countIf(kind = 'human' AND signal != 'none') AS suspicious`;

/**
 * Values of dimensions in a scope and a stretch of time. Empty values are not kept: they are what is left of the clicks,
 * and of most dimensions the most.
 */
export function listsText(from: string, start: string, listed: readonly Dimension[] = dimensions): string {
  const { dimension, value } = groupedBy(listed, String(dimensionNumber(dimensionOf('link'))));
  const columns = listed.map(({ column }) => column);
  const bot = dimensionNumber(dimensionOf('bot'));
  const own = columns.map(column => (column === 'code' ? `if(scope = code, '', code) AS code` : column));
  return `
    SELECT scope, ${start}, CAST(${dimension}, 'Int8') AS dimension, ${value} AS value,
      if(dimension = ${bot}, countIf(NOT isHuman), countIf(isHuman)) AS clicks
    FROM (
      SELECT arrayJoin(scopes) AS scope, ${start === 'day' ? 'toDate(at)' : 'toStartOfFifteenMinutes(at)'} AS ${start},
        kind = 'human' AS isHuman, ${own.join(', ')}
      FROM ${from})
    GROUP BY GROUPING SETS (${columns.map(column => `(scope, ${start}, ${column})`).join(', ')})
    HAVING clicks > 0 AND value != ''`;
}

const selects = (incoming: string): Readonly<Record<ViewedTable, string>> => ({
  clicks: `SELECT ${clickColumns.join(', ')} FROM ${incoming}`,
  minutes: `
    SELECT arrayJoin(scopes) AS scope, toStartOfMinute(at) AS start,
      ${counts},
      groupUniqArrayIf(token, kind = 'human') AS visitors
    FROM ${incoming} GROUP BY scope, start`,
  quarters: `
    SELECT arrayJoin(scopes) AS scope, toStartOfFifteenMinutes(at) AS start,
      ${counts}, max(at) AS last,
      groupUniqArrayIf(${visitorsKept})(token, kind = 'human') AS visitors,
      groupBitmapStateIf(${rankIn('token')}, kind = 'human') AS ranks
    FROM ${incoming} GROUP BY scope, start`,
  days: `
    SELECT arrayJoin(scopes) AS scope, toDate(at) AS day, groupBitmapState(${rankIn('token')}) AS ranks
    FROM ${incoming} WHERE kind = 'human' GROUP BY scope, day`,
  dimensions: listsText(incoming, 'day'),
  lists: listsText(incoming, 'start'),
});

export const viewStatements = (generation: number): string[] => {
  const texts = selects(tableName('incoming', generation));
  return viewedTables.map(
    table =>
      `CREATE MATERIALIZED VIEW IF NOT EXISTS ${viewName(table, generation)} TO ${tableName(table, generation)} AS ${texts[table]}`,
  );
};

/** Gives views of an earlier version the columns and dimensions of this one, in place. */
export const changedViewStatements = (generation: number, hasLists: boolean): string[] => {
  const texts = selects(tableName('incoming', generation));
  const changed = ['clicks', 'dimensions', ...(hasLists ? (['lists'] as const) : [])] as const;
  return changed.map(table => `ALTER TABLE ${viewName(table, generation)} MODIFY QUERY ${texts[table]}`);
};
