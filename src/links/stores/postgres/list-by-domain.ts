/**
 * Links to a domain, newest first. No index serves this: it would cost every link made, for a question that is asked
 * when something has gone wrong. Each call looks at a bounded window of all links instead, and says where to go on.
 */
import type { Postgres } from '../../../engines/postgres/postgres.ts';
import { leadsTo } from '../../host-match.ts';
import type { DomainQuery, ListPage } from '../../store.ts';
import { rowIdOf } from '../row-cursor.ts';
import { linkColumns } from './columns.ts';
import { readPage } from './list.ts';

/** Rows examined per call. */
const windowRows = 2_000;

export async function listByDomain(
  postgres: Postgres,
  { domain, cursor, limit }: DomainQuery,
): Promise<ListPage> {
  const from = cursor === undefined ? Number.MAX_SAFE_INTEGER : rowIdOf(cursor);
  const { links, nextCursor } = await readPage(
    postgres,
    { limit, order: 'newest' },
    {
      window: `SELECT ${linkColumns} FROM links WHERE id < $1 ORDER BY id DESC LIMIT ${windowRows}`,
      windowRows,
      filters: ['strpos(seen.long_url, $2) > 0'],
      values: [from, domain],
    },
  );
  return { links: links.filter(({ longUrl }) => leadsTo(longUrl, domain)), nextCursor };
}
