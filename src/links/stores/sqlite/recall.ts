/** Remembered answers, read the same way before a write and inside it. */
import type { Database } from 'bun:sqlite';
import type { Link } from '../../link.ts';
import type { IdempotencyRecord, RememberedAnswer } from '../../store.ts';

export function prepareRecall(
  database: Database,
): (record: IdempotencyRecord) => RememberedAnswer | undefined {
  const find = database.query<{ fingerprint: string; link: string; created_at: number }, [string, string]>(
    'SELECT fingerprint, link, created_at FROM idempotency WHERE owner = ? AND key = ?',
  );
  return ({ ownerId, key, validAfter }) => {
    const found = find.get(ownerId, key);
    if (found === null || found.created_at < validAfter) return undefined;
    return { link: JSON.parse(found.link) as Link, fingerprint: found.fingerprint };
  };
}
