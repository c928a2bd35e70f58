/**
 * Pages of an owner's links. Every query walks one index from the cursor on and looks at a bounded window of
 * rows: a search for something rare returns a short page and a cursor instead of reading the whole table.
 */
import type { Database } from 'bun:sqlite';
import { foldCase } from '../../search-text.ts';
import type { CountPage, CountQuery, ListPage, ListQuery } from '../../store.ts';
import { isBehind, type NumberedRow, type RowNumbers, startOfWalk } from '../creation-order.ts';
import { heldOrDisabled, storedStatusOf } from '../list-sources.ts';
import { cursorOf, rowIdOf } from '../row-cursor.ts';
import { type LinkRow, linkOf, ownerColumn, statusNumber, urlHash } from '../rows.ts';

/** Rows examined per call: a few milliseconds of the request thread at the most. */
const windowRowsMax = 2_000;
/** Fewer where text is searched, which for the longest of URLs takes ten times as long. */
const searchRowsMax = 500;
/** More where rows are only counted, which an index can do by itself. */
const countedRowsMax = 20_000;

type Bindings = Record<string, string | number>;

/** A stretch of rows in the wanted order, and what decides which of them belong on the page. */
interface Window {
  /** Selects the rows' numbers as `id`. */
  readonly text: string;
  readonly rows: number;
  readonly filters: readonly string[];
  readonly bindings: Bindings;
}

export interface Lister {
  list(query: ListQuery): Promise<ListPage>;
  count(query: CountQuery): Promise<CountPage>;
}

export function createLister(reader: Database): Lister {
  const firstRow = reader.query<NumberedRow, [number]>(
    'SELECT id, created_at FROM links WHERE id >= ? ORDER BY id LIMIT 1',
  );
  const lastRow = reader.query<{ id: number | null }, []>('SELECT max(id) AS id FROM links');
  const numbers: RowNumbers = {
    firstFrom: async id => firstRow.get(id) ?? undefined,
    last: async () => lastRow.get()?.id ?? 0,
  };

  const windowOf = async (query: CountQuery, unfilteredRows: number): Promise<Window> => {
    const start = query.cursor === undefined ? await startOfWalk(query, numbers) : rowIdOf(query.cursor);
    const bindings: Bindings = {
      owner: ownerColumn(query.ownerId),
      cursor: start ?? (query.order === 'newest' ? Number.MAX_SAFE_INTEGER : 0),
      now: query.now,
    };
    const filters = filtersOf(query, bindings);
    const filteredRows = query.search === undefined ? windowRowsMax : searchRowsMax;
    const rows = filters.length === 0 ? unfilteredRows : filteredRows;
    return { text: windowText(query, bindings, rows), rows, filters, bindings };
  };

  /** Where the next window begins; undefined when there is nothing more to look at. */
  const cursorAfter = (query: CountQuery, { text, rows, bindings }: Window): string | undefined => {
    const end = reader
      .query<NumberedRow & { seen: number }, [Bindings]>(
        `SELECT links.id, links.created_at, whole.seen FROM
           (SELECT ${query.order === 'newest' ? 'min' : 'max'}(id) AS id, count(*) AS seen FROM (${text})) AS whole
         JOIN links ON links.id = whole.id`,
      )
      .get(bindings);
    return end === null || end.seen < rows || isBehind(end.created_at, query) ? undefined : cursorOf(end.id);
  };

  return {
    async list(query) {
      const window = await windowOf(query, query.limit + 1);
      const rows = reader
        .query<LinkRow, [Bindings]>(
          `SELECT links.* FROM (${window.text}) AS seen JOIN links ON links.id = seen.id
           WHERE ${['links.status <> 2', ...window.filters].join(' AND ')}
           ORDER BY seen.id ${directionOf(query)} LIMIT ${query.limit + 1}`,
        )
        .all(window.bindings);
      if (rows.length > query.limit) {
        return { links: rows.slice(0, -1).map(linkOf), nextCursor: cursorOf(rows[query.limit - 1]!.id) };
      }
      return { links: rows.map(linkOf), nextCursor: cursorAfter(query, window) };
    },
    async count(query) {
      const window = await windowOf(query, countedRowsMax);
      const { text, filters, bindings } = window;
      const from =
        filters.length === 0
          ? `(${text})`
          : `(${text}) AS seen JOIN links ON links.id = seen.id
             WHERE ${['links.status <> 2', ...filters].join(' AND ')}`;
      const counted = reader
        .query<{ count: number }, [Bindings]>(`SELECT count(*) AS count FROM ${from}`)
        .get(bindings);
      return { count: counted!.count, nextCursor: cursorAfter(query, window) };
    },
  };
}

const directionOf = ({ order }: Pick<ListQuery, 'order'>): 'DESC' | 'ASC' =>
  order === 'newest' ? 'DESC' : 'ASC';

/** Walks the most selective index that keeps creation order; or several side by side, each as far as it may matter. */
function windowText(query: CountQuery, bindings: Bindings, rows: number): string {
  const walk = (from: string, where: string, idColumn = 'id'): string =>
    `SELECT ${idColumn} AS id FROM ${from}
     WHERE ${where} AND ${idColumn} ${query.order === 'newest' ? '<' : '>'} $cursor
     ORDER BY ${idColumn} ${directionOf(query)} LIMIT ${rows}`;
  const withStatus = (status: number): string =>
    walk('links INDEXED BY links_by_status', `owner = $owner AND status = ${status} AND status <> 0`);
  const status = storedStatusOf(query);
  // Of what is held or disabled there is so little that its URLs are no index's business.
  if (query.longUrl !== undefined && status === undefined) {
    bindings.urlHash = urlHash(query.ownerId, query.longUrl);
    const active = walk(
      'links INDEXED BY links_by_url',
      'url_hash = $urlHash AND status = 0 AND owner = $owner',
    );
    if (query.state !== undefined) return active;
    const walks = [active, ...heldOrDisabled.map(each => withStatus(statusNumber(each)))];
    return `SELECT id FROM (${walks.map(text => `SELECT id FROM (${text})`).join(' UNION ALL ')})
      ORDER BY id ${directionOf(query)} LIMIT ${rows}`;
  }
  if (query.tag !== undefined) return walk('link_tags', 'owner = $owner AND tag = $tag', 'link_id');
  if (status !== undefined) return withStatus(status);
  return walk('links INDEXED BY links_by_owner', 'owner = $owner AND status <> 2');
}

function filtersOf(query: CountQuery, bindings: Bindings): string[] {
  const { state, tag, search, domain, longUrl, createdFrom, createdTo } = query;
  const filters: string[] = [];
  const add = (filter: string, values: Bindings = {}): void => {
    filters.push(filter);
    Object.assign(bindings, values);
  };
  const alive = '(links.expires_at IS NULL OR links.expires_at > $now)';
  const unused = '(links.max_clicks IS NULL OR links.used_clicks < links.max_clicks)';
  if (state === 'active') filters.push('links.status = 0', alive, unused);
  if (state === 'expired') filters.push('links.status = 0', `NOT ${alive}`);
  if (state === 'exhausted') filters.push('links.status = 0', alive, `NOT ${unused}`);
  const status = storedStatusOf(query);
  if (status !== undefined && tag !== undefined) add(`links.status = ${status}`);
  if (tag !== undefined) bindings.tag = tag;
  if (longUrl !== undefined) {
    add('links.long_url = $longUrl', { longUrl });
    if (tag !== undefined)
      add(
        'EXISTS (SELECT 1 FROM link_tags WHERE owner = $owner AND tag = $tag AND link_tags.link_id = links.id)',
      );
  }
  if (createdFrom !== undefined) add('links.created_at >= $createdFrom', { createdFrom });
  if (createdTo !== undefined) add('links.created_at < $createdTo', { createdTo });
  if (domain !== undefined) {
    const behindScheme = "substr(links.long_url, instr(links.long_url, '//') + 2)";
    const authority = `substr(${behindScheme}, 1, instr(${behindScheme}, '/') - 1)`;
    add(`instr('.' || ${authority} || ':', $domain) > 0`, { domain: `.${domain}:` });
  }
  if (search !== undefined) {
    // LIKE compares character by character from every position on: fifty times as slow on a URL made for it.
    const columns = ['code', 'long_url', 'title'].map(column => `instr(lower(links.${column}), $search) > 0`);
    add(`(${columns.join(' OR ')})`, { search: foldCase(search) });
  }
  return filters;
}
