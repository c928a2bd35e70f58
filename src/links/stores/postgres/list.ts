/**
 * Pages of an owner's links. Every query walks one index from the cursor on and looks at a bounded window of rows: a
 * search for something rare returns a short page and a cursor instead of reading the whole table.
 */
import type { Postgres } from '../../../engines/postgres/postgres.ts';
import { foldCase } from '../../search-text.ts';
import type { CountPage, CountQuery, ListPage, ListQuery } from '../../store.ts';
import { isBehind, type NumberedRow, startOfWalk } from '../creation-order.ts';
import { heldOrDisabled, storedStatusOf } from '../list-sources.ts';
import { cursorOf, rowIdOf } from '../row-cursor.ts';
import { type LinkRow, linkOf, ownerColumn, statusNumber, urlHash } from '../rows.ts';
import { linkColumns } from './columns.ts';

/** Rows examined per call. */
const windowRowsMax = 2_000;
/** Fewer where text is searched, which for the longest of URLs takes ten times as long. */
const searchRowsMax = 500;
/** More where rows are only counted, which an index can do by itself. */
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

export async function listLinks(postgres: Postgres, query: ListQuery): Promise<ListPage> {
  const request = await requestFor(postgres, query, {
    unfilteredRows: query.limit + 1,
    columns: linkColumns,
  });
  return readPage(postgres, query, request);
}

export async function countLinks(postgres: Postgres, query: CountQuery): Promise<CountPage> {
  const request = await requestFor(postgres, query, { unfilteredRows: countedRowsMax });
  const { window, windowRows, filters, values } = request;
  const [row] = await postgres.read<Looked & { count: number }>(
    `WITH seen AS MATERIALIZED (${window})
     SELECT count(*) FILTER (WHERE ${['true', ...filters].join(' AND ')}) AS count, ${lookedColumns(query)} FROM seen`,
    values,
  );
  return { count: row!.count, nextCursor: cursorAfter(query, row!, windowRows) };
}

export interface PageRequest {
  /** Selects whole links in the wanted order, at most `windowRows`. */
  readonly window: string;
  readonly windowRows: number;
  /** Conditions on the rows of the window, which are called `seen`. */
  readonly filters: readonly string[];
  readonly values: readonly unknown[];
}

/** What was seen of a window: how many rows, and the last of them. */
interface Looked {
  readonly looked: number;
  readonly last: number | null;
  readonly last_created_at: number | null;
}

/** `columns` are needed only where there is a filter to look at them. */
async function requestFor(
  postgres: Postgres,
  query: CountQuery,
  { unfilteredRows, columns }: { readonly unfilteredRows: number; readonly columns?: string },
): Promise<PageRequest> {
  const parameters = new Parameters();
  const filters = filtersOf(query, parameters);
  const filteredRows = query.search === undefined ? windowRowsMax : searchRowsMax;
  const windowRows = filters.length === 0 ? unfilteredRows : filteredRows;
  const start =
    query.cursor === undefined ? await startOfWalk(query, rowNumbersOf(postgres)) : rowIdOf(query.cursor);
  const selected = filters.length === 0 ? (columns ?? 'links.id, links.created_at') : linkColumns;
  const window = windowOf(query, parameters, { start, rows: windowRows, columns: selected });
  return { window, windowRows, filters, values: parameters.values };
}

const rowNumbersOf = (postgres: Postgres) => ({
  async firstFrom(id: number): Promise<NumberedRow | undefined> {
    const text = 'SELECT id, created_at FROM links WHERE id >= $1 ORDER BY id LIMIT 1';
    return (await postgres.read<NumberedRow>(text, [id], { name: 'first-link-from' }))[0];
  },
  async last(): Promise<number> {
    const [row] = await postgres.read<{ id: number | null }>('SELECT max(id) AS id FROM links');
    return row?.id ?? 0;
  },
});

/** Also for links that are not of one owner. */
export async function readPage(
  postgres: Postgres,
  query: Pick<ListQuery, 'limit' | 'order' | 'createdFrom' | 'createdTo'>,
  { window, windowRows, filters, values }: PageRequest,
): Promise<ListPage> {
  const { limit } = query;
  const direction = directionOf(query);
  const where = ['true', ...filters].join(' AND ');
  const rows = await postgres.read<(LinkRow | { id: null }) & Looked>(
    `WITH seen AS MATERIALIZED (${window}),
     page AS (SELECT * FROM seen WHERE ${where} ORDER BY id ${direction} LIMIT ${limit + 1})
     SELECT page.*, looked, last, last_created_at FROM
       (SELECT ${lookedColumns(query)} FROM seen) AS whole
       LEFT JOIN page ON true ORDER BY page.id ${direction}`,
    values,
  );
  const found = rows.filter(row => row.id !== null) as LinkRow[];
  const links = found.slice(0, limit).map(linkOf);
  if (found.length > limit) return { links, nextCursor: cursorOf(found[limit - 1]!.id) };
  return { links, nextCursor: cursorAfter(query, rows[0]!, windowRows) };
}

const directionOf = ({ order }: Pick<ListQuery, 'order'>): 'DESC' | 'ASC' =>
  order === 'newest' ? 'DESC' : 'ASC';

function lookedColumns({ order }: Pick<ListQuery, 'order'>): string {
  const [last, direction] = order === 'newest' ? ['min', 'ASC'] : ['max', 'DESC'];
  return `count(*) AS looked, ${last}(id) AS last,
    (SELECT created_at FROM seen ORDER BY id ${direction} LIMIT 1) AS last_created_at`;
}

/** Where the next window begins; undefined when there is nothing more to look at. */
function cursorAfter(
  query: Pick<ListQuery, 'order' | 'createdFrom' | 'createdTo'>,
  { looked, last, last_created_at }: Looked,
  windowRows: number,
): string | undefined {
  if (looked < windowRows || last === null || last_created_at === null) return undefined;
  return isBehind(last_created_at, query) ? undefined : cursorOf(last);
}

/** Walks the most selective index that keeps creation order; or several side by side, each as far as it may matter. */
function windowOf(
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
  const withStatus = (status: number): string =>
    `owner = ${owner} AND status = ${status} AND status <> ${active}`;
  const status = storedStatusOf(query);
  // Of what is held or disabled there is so little that its URLs are no index's business.
  if (query.longUrl !== undefined && status === undefined) {
    const hash = parameters.add(urlHash(query.ownerId, query.longUrl));
    const toUrl = `owner = ${owner} AND url_hash = ${hash} AND status = ${active}`;
    if (query.state !== undefined) return walk(columns, 'links', toUrl);
    const walks = [toUrl, ...heldOrDisabled.map(each => withStatus(statusNumber(each)))];
    const merged = walks.map(where => `(${walk('id', 'links', where)})`).join(' UNION ALL ');
    return joined(`${merged} ORDER BY id ${directionOf(query)} LIMIT ${rows}`);
  }
  if (query.tag !== undefined) {
    const tagged = `owner = ${owner} AND tag = ${parameters.add(query.tag)}`;
    return joined(walk('link_id AS id', 'link_tags', tagged, 'link_id'));
  }
  const condition = status === undefined ? `owner = ${owner} AND status <> ${deleted}` : withStatus(status);
  return walk(columns, 'links', condition);
}

function filtersOf(query: CountQuery, parameters: Parameters): string[] {
  const { state, tag, search, domain, longUrl, createdFrom, createdTo } = query;
  const filters: string[] = [];
  if (state === 'active' || state === 'expired' || state === 'exhausted') {
    const alive = `(seen.expires_at IS NULL OR seen.expires_at > ${parameters.add(query.now)})`;
    const unused = '(seen.max_clicks IS NULL OR seen.used_clicks < seen.max_clicks)';
    filters.push(`seen.status = ${active}`, state === 'expired' ? `NOT ${alive}` : alive);
    if (state !== 'expired') filters.push(state === 'exhausted' ? `NOT ${unused}` : unused);
  }
  const status = storedStatusOf(query);
  if (tag !== undefined)
    filters.push(`seen.status ${status === undefined ? `<> ${deleted}` : `= ${status}`}`);
  if (longUrl !== undefined) {
    filters.push(`seen.long_url = ${parameters.add(longUrl)}`);
    if (tag !== undefined)
      filters.push(
        `EXISTS (SELECT FROM link_tags WHERE owner = seen.owner AND tag = ${parameters.add(tag)} AND link_id = seen.id)`,
      );
  }
  if (createdFrom !== undefined) filters.push(`seen.created_at >= ${parameters.add(createdFrom)}`);
  if (createdTo !== undefined) filters.push(`seen.created_at < ${parameters.add(createdTo)}`);
  if (domain !== undefined) {
    const authority = "split_part(seen.long_url, '/', 3)";
    filters.push(`strpos('.' || ${authority} || ':', ${parameters.add(`.${domain}:`)}) > 0`);
  }
  if (search !== undefined) {
    const needle = parameters.add(foldCase(search));
    // In the collation "C", which these columns have, lower() knows no letters but those of ASCII.
    const columns = ['code', 'long_url', 'title'].map(
      column => `strpos(lower(seen.${column}), ${needle}) > 0`,
    );
    filters.push(`(${columns.join(' OR ')})`);
  }
  return filters;
}
