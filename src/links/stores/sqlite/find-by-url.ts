/** The owner's newest live link to a URL, read the same way before a write and inside it. */
import type { Database } from 'bun:sqlite';
import type { Link } from '../../link.ts';
import { type LinkRow, linkOf, ownerColumn, statusNumber, urlHash } from '../rows.ts';

/** Links to one URL that are looked at for a live one; more would be an owner making the same link over and over. */
const sameUrlRowsMax = 64;

export function prepareFindByUrl(
  database: Database,
): (ownerId: string | null, longUrl: string, now: number) => Link | undefined {
  const find = database.query<LinkRow, [number, number, string, string, number]>(`
    SELECT * FROM (
      SELECT * FROM links WHERE url_hash = ?1 AND status = ${statusNumber('active')} ORDER BY id DESC LIMIT ?2
    ) WHERE owner = ?3 AND long_url = ?4 AND (expires_at IS NULL OR expires_at > ?5)
      AND (max_clicks IS NULL OR used_clicks < max_clicks)
    LIMIT 1`);
  return (ownerId, longUrl, now) => {
    const row = find.get(urlHash(ownerId, longUrl), sameUrlRowsMax, ownerColumn(ownerId), longUrl, now);
    return row === null ? undefined : linkOf(row);
  };
}
