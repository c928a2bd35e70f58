/** Remembered answers, read the same way before a write and inside it. */
import type { Database } from 'bun:sqlite';
import type { Link } from '../../link.ts';
import type { IdempotencyRecord, RememberedAnswer } from '../../store.ts';

type Outcome = Pick<RememberedAnswer, 'outcome'>;

export function prepareRecall(
  database: Database,
): (record: IdempotencyRecord) => RememberedAnswer | undefined {
  const find = database.query<{ fingerprint: string; link: string; created_at: number }, [string, string]>(
    'SELECT fingerprint, link, created_at FROM idempotency WHERE owner = ? AND key = ?',
  );
  return ({ ownerId, key, validAfter }) => {
    const found = find.get(ownerId, key);
    if (found === null || found.created_at < validAfter) return undefined;
    return { ...readAnswer(found.link), fingerprint: found.fingerprint };
  };
}

export function readAnswer(text: string): Pick<RememberedAnswer, 'outcome' | 'link'> {
  const { outcome = 'created', ...link } = JSON.parse(text) as Partial<Outcome> & Link;
  // What was remembered before destinations were judged names no risk.
  return { outcome, link: { ...link, risk: link.risk ?? null } };
}

/**
 * The outcome lies beside the link's own fields, because a new column would have every row of this STRICT table
 * checked. What does not name it was created.
 */
export function answerText(outcome: RememberedAnswer['outcome'], link: Link): string {
  return JSON.stringify(outcome === 'created' ? link : { ...link, outcome });
}
