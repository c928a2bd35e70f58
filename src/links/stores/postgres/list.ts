/**
 * Pages of an owner's links. Every query walks one index from the cursor on and looks at a bounded window of rows: a
 * search for something rare returns a short page and a cursor instead of reading the whole table.
 */
import type { Postgres } from '../../../engines/postgres/postgres.ts';
import { foldCase } from '../../search-text.ts';
import type { ListPage, ListQuery } from '../../store.ts';
import { cursorOf, rowIdOf } from '../row-cursor.ts';
import { type LinkRow, linkOf, ownerColumn, statusNumber } from '../rows.ts';
import { linkColumns } from './columns.ts';

/** Rows examined per call. */
const windowRowsMax = 2_000;
/** Fewer where text is searched, which for the longest of URLs takes ten times as long. */
const searchRowsMax = 500;

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
  const parameters = new Parameters();
  const filters = filtersOf(query, parameters);
  const filteredRows = query.search === undefined ? windowRowsMax : searchRowsMax;
  const windowRows = filters.length === 0 ? query.limit + 1 : filteredRows;
  const window = windowOf(query, parameters, windowRows);
  return readPage(postgres, query, { window, windowRows, filters, values: parameters.values });
}

export interface PageRequest {
  /** Selects whole links in the wanted order, at most `windowRows`. */
  readonly window: string;
  readonly windowRows: number;
  /** Conditions on the rows of the window, which are called `seen`. */
  readonly filters: readonly string[];
  readonly values: readonly unknown[];
}

/** Also for links that are not of one owner. */
export async function readPage(
  postgres: Postgres,
  { limit, order }: Pick<ListQuery, 'limit' | 'order'>,
  { window, windowRows, filters, values }: PageRequest,
): Promise<ListPage> {
  const direction = order === 'newest' ? 'DESC' : 'ASC';
  const where = ['true', ...filters].join(' AND ');
  const rows = await postgres.read<(LinkRow | { id: null }) & { looked: number; last: number | null }>(
    `WITH seen AS MATERIALIZED (${window}),
     page AS (SELECT * FROM seen WHERE ${where} ORDER BY id ${direction} LIMIT ${limit + 1})
     SELECT page.*, looked, last FROM
       (SELECT count(*) AS looked, ${order === 'newest' ? 'min' : 'max'}(id) AS last FROM seen) AS whole
       LEFT JOIN page ON true ORDER BY page.id ${direction}`,
    values,
  );
  const { looked, last } = rows[0]!;
  const found = rows.filter(row => row.id !== null) as LinkRow[];
  const links = found.slice(0, limit).map(linkOf);
  if (found.length > limit) return { links, nextCursor: cursorOf(found[limit - 1]!.id) };
  return { links, nextCursor: looked === windowRows && last !== null ? cursorOf(last) : undefined };
}

/** Walks the most selective index that keeps creation order. */
function windowOf(query: ListQuery, parameters: Parameters, rowsMax: number): string {
  const owner = parameters.add(ownerColumn(query.ownerId));
  const [comparison, direction] = query.order === 'newest' ? ['<', 'DESC'] : ['>', 'ASC'];
  const ordered = (id: string): string => {
    const from =
      query.cursor === undefined ? 'true' : `${id} ${comparison} ${parameters.add(rowIdOf(query.cursor))}`;
    return `${from} ORDER BY ${id} ${direction} LIMIT ${rowsMax}`;
  };
  if (query.tag !== undefined) {
    const tagged = `SELECT link_id FROM link_tags WHERE owner = ${owner} AND tag = ${parameters.add(query.tag)}`;
    return `SELECT ${linkColumns} FROM (${tagged} AND ${ordered('link_id')}) AS tagged
      JOIN links ON links.id = tagged.link_id`;
  }
  const status = storedStatusOf(query);
  const condition =
    status === undefined ? `status <> ${deleted}` : `status = ${status} AND status <> ${active}`;
  return `SELECT ${linkColumns} FROM links WHERE owner = ${owner} AND ${condition} AND ${ordered('id')}`;
}

/** The status on disk that a state is, where time and clicks have no say in it. */
function storedStatusOf({ state }: ListQuery): number | undefined {
  const isStored = state === 'disabled' || state === 'quarantined' || state === 'blocked';
  return isStored ? statusNumber(state) : undefined;
}

function filtersOf(query: ListQuery, parameters: Parameters): string[] {
  const filters: string[] = [];
  if (query.state === 'active' || query.state === 'expired' || query.state === 'exhausted') {
    const alive = `(seen.expires_at IS NULL OR seen.expires_at > ${parameters.add(query.now)})`;
    const unused = '(seen.max_clicks IS NULL OR seen.used_clicks < seen.max_clicks)';
    filters.push(`seen.status = ${active}`, query.state === 'expired' ? `NOT ${alive}` : alive);
    if (query.state !== 'expired') filters.push(query.state === 'exhausted' ? `NOT ${unused}` : unused);
  }
  const status = storedStatusOf(query);
  if (query.tag !== undefined)
    filters.push(`seen.status ${status === undefined ? `<> ${deleted}` : `= ${status}`}`);
  if (query.search !== undefined) {
    const search = parameters.add(foldCase(query.search));
    // In the collation "C", which these columns have, lower() knows no letters but those of ASCII.
    const columns = ['code', 'long_url', 'title'].map(
      column => `strpos(lower(seen.${column}), ${search}) > 0`,
    );
    filters.push(`(${columns.join(' OR ')})`);
  }
  return filters;
}
