/**
 * Pages of an owner's links. Every query walks one index from the cursor on and looks at a bounded window of
 * rows: a search for something rare returns a short page and a cursor instead of reading the whole table.
 */
import type { Database } from 'bun:sqlite';
import { foldCase } from '../../search-text.ts';
import type { ListPage, ListQuery } from '../../store.ts';
import { cursorOf, rowIdOf } from '../row-cursor.ts';
import { type LinkRow, linkOf, ownerColumn, statusNumber } from '../rows.ts';

/** Rows examined per call: a few milliseconds of the request thread at the most. */
const windowRowsMax = 2_000;
/** Fewer where text is searched, which for the longest of URLs takes ten times as long. */
const searchRowsMax = 500;

type Bindings = Record<string, string | number>;

export function createLister(reader: Database): (query: ListQuery) => ListPage {
  return query => {
    const newestFirst = query.order === 'newest';
    const bindings: Bindings = {
      owner: ownerColumn(query.ownerId),
      cursor:
        query.cursor === undefined ? (newestFirst ? Number.MAX_SAFE_INTEGER : 0) : rowIdOf(query.cursor),
      now: query.now,
      limit: query.limit,
    };
    const filters = filtersOf(query, bindings);
    const source = sourceOf(query, bindings);
    const filteredRows = query.search === undefined ? windowRowsMax : searchRowsMax;
    const windowRows = filters.length === 0 ? query.limit + 1 : filteredRows;
    const comparison = newestFirst ? '<' : '>';
    const direction = newestFirst ? 'DESC' : 'ASC';
    const window = `SELECT ${source.idColumn} AS id FROM ${source.from}
      WHERE ${source.where} AND ${source.idColumn} ${comparison} $cursor
      ORDER BY ${source.idColumn} ${direction} LIMIT ${windowRows}`;

    const rows = reader
      .query<LinkRow, [Bindings]>(
        `SELECT links.* FROM (${window}) AS seen JOIN links ON links.id = seen.id
         WHERE ${['links.status <> 2', ...filters].join(' AND ')} ORDER BY seen.id ${direction} LIMIT $limit + 1`,
      )
      .all(bindings);
    if (rows.length > query.limit) {
      return { links: rows.slice(0, -1).map(linkOf), nextCursor: cursorOf(rows[query.limit - 1]!.id) };
    }
    const windowEnd = reader
      .query<{ id: number; seen: number }, [Bindings]>(
        `SELECT ${newestFirst ? 'min' : 'max'}(id) AS id, count(*) AS seen FROM (${window})`,
      )
      .get(bindings);
    const more = windowEnd !== null && windowEnd.seen === windowRows;
    return { links: rows.map(linkOf), nextCursor: more ? cursorOf(windowEnd.id) : undefined };
  };
}

/** The index to walk: the most selective one that keeps creation order. */
function sourceOf(query: ListQuery, bindings: Bindings): { from: string; where: string; idColumn: string } {
  if (query.tag !== undefined) {
    bindings.tag = query.tag;
    return { from: 'link_tags', where: 'owner = $owner AND tag = $tag', idColumn: 'link_id' };
  }
  const status = storedStatusOf(query);
  if (status !== undefined) {
    const where = `owner = $owner AND status = ${status} AND status <> 0`;
    return { from: 'links INDEXED BY links_by_status', where, idColumn: 'id' };
  }
  return { from: 'links INDEXED BY links_by_owner', where: 'owner = $owner AND status <> 2', idColumn: 'id' };
}

/** The status on disk that a state is, where time and clicks have no say in it. */
function storedStatusOf({ state }: ListQuery): number | undefined {
  const isStored = state === 'disabled' || state === 'quarantined' || state === 'blocked';
  return isStored ? statusNumber(state) : undefined;
}

function filtersOf(query: ListQuery, bindings: Bindings): string[] {
  const filters: string[] = [];
  const alive = '(links.expires_at IS NULL OR links.expires_at > $now)';
  const unused = '(links.max_clicks IS NULL OR links.used_clicks < links.max_clicks)';
  if (query.state === 'active') filters.push('links.status = 0', alive, unused);
  if (query.state === 'expired') filters.push('links.status = 0', `NOT ${alive}`);
  if (query.state === 'exhausted') filters.push('links.status = 0', alive, `NOT ${unused}`);
  const status = storedStatusOf(query);
  if (status !== undefined && query.tag !== undefined) filters.push(`links.status = ${status}`);
  if (query.search !== undefined) {
    bindings.search = foldCase(query.search);
    // LIKE compares character by character from every position on: fifty times as slow on a URL made for it.
    const columns = ['code', 'long_url', 'title'].map(column => `instr(lower(links.${column}), $search) > 0`);
    filters.push(`(${columns.join(' OR ')})`);
  }
  return filters;
}
