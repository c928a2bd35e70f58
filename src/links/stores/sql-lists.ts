/**
 * Pages of links in the SQL engines, newest or oldest first. Every query walks one index from the cursor on and looks at
 * a bounded window of rows: a search for something rare returns a short page and a cursor instead of reading the whole
 * table.
 *
 * Rows are numbered as they are stored. That is nearly the order of creation: requests overtake one another, and queued
 * links are stored late. So a walk over some hours of creation starts and ends with a margin, and the times themselves
 * decide inside the margin.
 */
import { foldCase, leadsTo } from '../list-match.ts';
import {
  type CountPage,
  type CountQuery,
  type DomainQuery,
  type ListFilter,
  type ListPage,
  type ListQuery,
  storedAfterMaxMs,
} from '../store.ts';
import {
  cursorOf,
  heldOrDisabled,
  type LinkRow,
  linkOf,
  ownerColumn,
  rowIdOf,
  statusNumber,
  storedStatusOf,
  urlHash,
} from './rows.ts';

export interface SqlLists {
  /** Runs a statement whose values are called `$1`, `$2`, …. */
  readonly query: <Row>(text: string, values: readonly unknown[]) => Promise<Row[]>;
  /** What is selected of the links of a window: all of them, or where to find them. */
  readonly columns: string;
  /** The links of a window, which is called `seen`, as `link`. */
  readonly links: string;
  /** The table of links, walked by this index. */
  readonly linksBy: (index: string) => string;
  /** The position of the second text in the first, from 1; 0 where there is none. */
  readonly position: 'instr' | 'strpos';
  /** The part of a URL between the scheme and the path. */
  readonly authorityOf: (url: string) => string;
}

/** Rows examined per call: at most a few milliseconds. */
const windowRowsMax = 2_000;
/** Fewer where text is searched, which takes ten times as long for the longest URLs. */
const searchRowsMax = 500;
/** More where rows are only counted, which an index can do alone. */
const countedRowsMax = 20_000;

const deleted = statusNumber('deleted');
const active = statusNumber('active');

/** Collects the values that a text refers to by number. */
class Parameters {
  readonly values: unknown[] = [];

  add(value: unknown): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }
}

type Walk = Pick<ListQuery, 'order'> & Pick<ListFilter, 'createdFrom' | 'createdTo'>;

interface Window {
  /** Selects links in the wanted order, at most `rows` of them. */
  readonly text: string;
  readonly rows: number;
  /** Conditions on the links of the window, each of which is called `link`. */
  readonly filters: readonly string[];
  readonly values: readonly unknown[];
}

/** What was seen of a window: how many rows, and the last of them. */
interface Seen {
  readonly looked: number;
  readonly last: number | null;
  readonly last_created_at: number | null;
}

export async function listLinks(sql: SqlLists, query: ListQuery): Promise<ListPage> {
  return readPage(sql, query, await windowFor(sql, query, query.limit + 1, sql.columns));
}

export async function countLinks(sql: SqlLists, query: CountQuery): Promise<CountPage> {
  const { text, rows, filters, values } = await windowFor(sql, query, countedRowsMax, 'links.id');
  const count =
    filters.length === 0 ? 'looked' : `(SELECT count(*) FROM ${sql.links} WHERE ${allOf(filters)})`;
  const [row] = await sql.query<Seen & { count: number }>(
    `WITH seen AS MATERIALIZED (${text}) SELECT ${count} AS count, whole.* FROM ${seenIn(query)}`,
    values,
  );
  return { count: row!.count, nextCursor: cursorAfter(query, row!, rows) };
}

/**
 * Links to a domain, newest first. No index serves this: it would cost every new link, for a query that is only made
 * when something has gone wrong. Each call examines a window of all links.
 */
export async function listByDomain(sql: SqlLists, { domain, cursor, limit }: DomainQuery): Promise<ListPage> {
  const from = cursor === undefined ? Number.MAX_SAFE_INTEGER : rowIdOf(cursor);
  const page = await readPage(
    sql,
    { limit, order: 'newest' },
    {
      text: `SELECT ${sql.columns} FROM links WHERE id < $1 ORDER BY id DESC LIMIT ${windowRowsMax}`,
      rows: windowRowsMax,
      filters: [`${sql.position}(link.long_url, $2) > 0`],
      values: [from, domain],
    },
  );
  return { ...page, links: page.links.filter(({ longUrl }) => leadsTo(longUrl, domain)) };
}

async function readPage(
  sql: SqlLists,
  query: Walk & Pick<ListQuery, 'limit'>,
  { text, rows: windowRows, filters, values }: Window,
): Promise<ListPage> {
  const { limit } = query;
  const direction = directionOf(query);
  const rows = await sql.query<(LinkRow | { id: null }) & Seen>(
    `WITH seen AS MATERIALIZED (${text}),
     page AS (SELECT link.* FROM ${sql.links} WHERE ${allOf(filters)} ORDER BY link.id ${direction} LIMIT ${limit + 1})
     SELECT page.*, whole.* FROM ${seenIn(query)} LEFT JOIN page ON true ORDER BY page.id ${direction}`,
    values,
  );
  const found = rows.filter(row => row.id !== null) as LinkRow[];
  const links = found.slice(0, limit).map(linkOf);
  if (found.length > limit) return { links, nextCursor: cursorOf(found[limit - 1]!.id) };
  return { links, nextCursor: cursorAfter(query, rows[0]!, windowRows) };
}

const allOf = (filters: readonly string[]): string => ['true', ...filters].join(' AND ');

const directionOf = ({ order }: Walk): 'DESC' | 'ASC' => (order === 'newest' ? 'DESC' : 'ASC');

const seenIn = ({ order }: Walk): string =>
  `(SELECT looked, last, links.created_at AS last_created_at FROM
     (SELECT count(*) AS looked, ${order === 'newest' ? 'min' : 'max'}(id) AS last FROM seen) AS bounds
     LEFT JOIN links ON links.id = bounds.last) AS whole`;

/** Where the next window starts; undefined when there are no more rows, or no wanted one can come. */
function cursorAfter(
  { order, createdFrom, createdTo }: Walk,
  { looked, last, last_created_at: createdAt }: Seen,
  windowRows: number,
): string | undefined {
  if (looked < windowRows || last === null || createdAt === null) return undefined;
  const isPast =
    order === 'newest'
      ? createdFrom !== undefined && createdAt < createdFrom - storedAfterMaxMs
      : createdTo !== undefined && createdAt >= createdTo + storedAfterMaxMs;
  return isPast ? undefined : cursorOf(last);
}

/** `columns` of a window without filters; with filters all are needed. */
async function windowFor(
  sql: SqlLists,
  query: CountQuery,
  unfilteredRows: number,
  columns: string,
): Promise<Window> {
  const parameters = new Parameters();
  const filters = filtersOf(sql, query, parameters);
  const filteredRows = query.search === undefined ? windowRowsMax : searchRowsMax;
  const rows = filters.length === 0 ? unfilteredRows : filteredRows;
  const start = query.cursor === undefined ? await startOf(sql, query) : rowIdOf(query.cursor);
  const selected = filters.length === 0 ? columns : sql.columns;
  const text = windowText(sql, query, parameters, { start, rows, columns: selected });
  return { text, rows, filters, values: parameters.values };
}

/** The row number to start after; undefined where the walk has to start at its end. */
async function startOf(sql: SqlLists, { order, createdFrom, createdTo }: Walk): Promise<number | undefined> {
  if (order === 'newest')
    return createdTo === undefined ? undefined : await numberAt(sql, createdTo + storedAfterMaxMs);
  return createdFrom === undefined ? undefined : (await numberAt(sql, createdFrom - storedAfterMaxMs)) - 1;
}

/** The number from which on rows were created at that time or later, by binary search. */
async function numberAt({ query }: SqlLists, timeMs: number): Promise<number> {
  const [newest] = await query<{ id: number | null }>('SELECT max(id) AS id FROM links', []);
  let low = 0;
  let high = (newest?.id ?? 0) + 1;
  while (low < high) {
    const middle = low + Math.floor((high - low) / 2);
    const text = 'SELECT id, created_at FROM links WHERE id >= $1 ORDER BY id LIMIT 1';
    const [row] = await query<{ id: number; created_at: number }>(text, [middle]);
    if (row !== undefined && row.created_at < timeMs) low = row.id + 1;
    else high = middle;
  }
  return low;
}

/** Walks the most selective index that keeps creation order; or several in parallel, each as far as it may matter. */
function windowText(
  { linksBy }: SqlLists,
  query: CountQuery,
  parameters: Parameters,
  { start, rows, columns }: { start: number | undefined; rows: number; columns: string },
): string {
  const owner = parameters.add(ownerColumn(query.ownerId));
  const from = start === undefined ? undefined : parameters.add(start);
  const walk = (selected: string, table: string, where: string, id = 'id'): string => {
    const behind = from === undefined ? 'true' : `${id} ${query.order === 'newest' ? '<' : '>'} ${from}`;
    return `SELECT ${selected} FROM ${table} WHERE ${where} AND ${behind} ORDER BY ${id} ${directionOf(query)} LIMIT ${rows}`;
  };
  const joined = (ids: string): string =>
    `SELECT ${columns} FROM (${ids}) AS walked JOIN links ON links.id = walked.id`;
  const withStatus = (selected: string, status: number): string =>
    walk(
      selected,
      linksBy('links_by_status'),
      `owner = ${owner} AND status = ${status} AND status <> ${active}`,
    );
  const status = storedStatusOf(query);
  // Held or disabled links are so few that their URLs need no index.
  if (query.longUrl !== undefined && status === undefined) {
    const hash = parameters.add(urlHash(query.ownerId, query.longUrl));
    const toUrl = (selected: string): string =>
      walk(
        selected,
        linksBy('links_by_url'),
        `owner = ${owner} AND url_hash = ${hash} AND status = ${active}`,
      );
    if (query.state !== undefined) return toUrl(columns);
    const walks = [toUrl('id'), ...heldOrDisabled.map(each => withStatus('id', statusNumber(each)))];
    const merged = walks.map(text => `SELECT id FROM (${text}) AS one`).join(' UNION ALL ');
    return joined(`${merged} ORDER BY id ${directionOf(query)} LIMIT ${rows}`);
  }
  if (query.tag !== undefined) {
    const tagged = `owner = ${owner} AND tag = ${parameters.add(query.tag)}`;
    return joined(walk('link_id AS id', 'link_tags', tagged, 'link_id'));
  }
  if (status !== undefined) return withStatus(columns, status);
  return walk(columns, linksBy('links_by_owner'), `owner = ${owner} AND status <> ${deleted}`);
}

function filtersOf({ position, authorityOf }: SqlLists, query: CountQuery, parameters: Parameters): string[] {
  const { state, tag, search, domain, longUrl, createdFrom, createdTo } = query;
  const filters: string[] = [];
  if (state === 'active' || state === 'expired' || state === 'exhausted') {
    const alive = `(link.expires_at IS NULL OR link.expires_at > ${parameters.add(query.now)})`;
    const unused = '(link.max_clicks IS NULL OR link.used_clicks < link.max_clicks)';
    filters.push(`link.status = ${active}`, state === 'expired' ? `NOT ${alive}` : alive);
    if (state !== 'expired') filters.push(state === 'exhausted' ? `NOT ${unused}` : unused);
  }
  const status = storedStatusOf(query);
  if (tag !== undefined)
    filters.push(`link.status ${status === undefined ? `<> ${deleted}` : `= ${status}`}`);
  if (longUrl !== undefined) {
    filters.push(`link.long_url = ${parameters.add(longUrl)}`);
    if (tag !== undefined)
      filters.push(
        `EXISTS (SELECT 1 FROM link_tags WHERE owner = link.owner AND tag = ${parameters.add(tag)} AND link_id = link.id)`,
      );
  }
  if (createdFrom !== undefined) filters.push(`link.created_at >= ${parameters.add(createdFrom)}`);
  if (createdTo !== undefined) filters.push(`link.created_at < ${parameters.add(createdTo)}`);
  if (domain !== undefined) {
    const authority = authorityOf('link.long_url');
    filters.push(`${position}('.' || ${authority} || ':', ${parameters.add(`.${domain}:`)}) > 0`);
  }
  if (search !== undefined) {
    const needle = parameters.add(foldCase(search));
    // LIKE compares from every position: fifty times as slow on a URL crafted for it. `lower` folds ASCII only, in
    // SQLite and in the collation "C" of these columns in Postgres.
    const columns = ['code', 'long_url', 'title'].map(
      column => `${position}(lower(link.${column}), ${needle}) > 0`,
    );
    filters.push(`(${columns.join(' OR ')})`);
  }
  return filters;
}
