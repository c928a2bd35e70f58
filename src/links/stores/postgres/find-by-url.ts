/** The newest live links of owners to URLs, read the same way before a write and inside it. */
import type { PostgresTransaction } from '../../../engines/postgres/postgres.ts';
import type { Link } from '../../link.ts';
import { type LinkRow, linkOf, ownerColumn, statusNumber, urlHash } from '../rows.ts';
import { linkColumns } from './columns.ts';

export type WantedUrl = Pick<Link, 'ownerId' | 'longUrl'> & { readonly now: number };

/** Links to one URL that are looked at for a live one; more would be an owner making the same link over and over. */
const sameUrlRowsMax = 64;

const statement = `
  SELECT wanted.place, found.* FROM json_to_recordset($1::json)
    AS wanted(place int4, url_hash int8, owner text, long_url text, now int8)
  CROSS JOIN LATERAL (
    SELECT * FROM (
      SELECT ${linkColumns} FROM links
      WHERE links.url_hash = wanted.url_hash AND links.status = ${statusNumber('active')}
      ORDER BY links.id DESC LIMIT ${sameUrlRowsMax}
    ) AS same
    WHERE same.owner = wanted.owner AND same.long_url = wanted.long_url
      AND (same.expires_at IS NULL OR same.expires_at > wanted.now)
      AND (same.max_clicks IS NULL OR same.used_clicks < same.max_clicks)
    ORDER BY same.id DESC LIMIT 1
  ) AS found`;

/** One for each that is wanted, in order; undefined where there is none. */
export async function findByUrls(
  query: PostgresTransaction['query'],
  wanted: readonly WantedUrl[],
): Promise<(Link | undefined)[]> {
  if (wanted.length === 0) return [];
  const rows = await query<LinkRow & { place: number }>(
    statement,
    [
      JSON.stringify(
        wanted.map(({ ownerId, longUrl, now }, place) => ({
          place,
          url_hash: urlHash(ownerId, longUrl),
          owner: ownerColumn(ownerId),
          long_url: longUrl,
          now,
        })),
      ),
    ],
    { name: 'find-by-url' },
  );
  const found = new Map(rows.map(({ place, ...row }) => [place, linkOf(row)]));
  return wanted.map((_, place) => found.get(place));
}
