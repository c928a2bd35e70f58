/**
 * Links to a domain, newest first. No index serves this: it would cost every link made, for a question that is asked
 * when something has gone wrong. Each call looks at a bounded window of all links instead, and says where to go on.
 */
import type { Database } from 'bun:sqlite';
import { leadsTo } from '../../host-match.ts';
import type { DomainQuery, ListPage } from '../../store.ts';
import { cursorOf, rowIdOf } from '../row-cursor.ts';
import { type LinkRow, linkOf } from '../rows.ts';

/** Rows examined per call: a few milliseconds of the request thread at the most. */
const windowRowsMax = 2_000;

export function createDomainLister(reader: Database): (query: DomainQuery) => ListPage {
  const window = `SELECT * FROM links WHERE id < ?1 ORDER BY id DESC LIMIT ${windowRowsMax}`;
  const mentioning = reader.query<LinkRow, [number, string, number]>(
    `SELECT * FROM (${window}) WHERE instr(long_url, ?2) > 0 ORDER BY id DESC LIMIT ?3`,
  );
  const windowEnd = reader.query<{ id: number; seen: number }, [number]>(
    `SELECT min(id) AS id, count(*) AS seen FROM (${window})`,
  );
  return ({ domain, cursor, limit }) => {
    const before = cursor === undefined ? Number.MAX_SAFE_INTEGER : rowIdOf(cursor);
    const rows = mentioning.all(before, domain, limit + 1);
    const links = rows
      .slice(0, limit)
      .map(linkOf)
      .filter(({ longUrl }) => leadsTo(longUrl, domain));
    if (rows.length > limit) return { links, nextCursor: cursorOf(rows[limit - 1]!.id) };
    const end = windowEnd.get(before);
    const more = end !== null && end.seen === windowRowsMax;
    return { links, nextCursor: more ? cursorOf(end.id) : undefined };
  };
}
