/** Answers remembered under idempotency keys: read the same way before a write and inside it, and written. */
import type { PostgresTransaction } from '../../../engines/postgres/postgres.ts';
import type { Link } from '../../link.ts';
import type { IdempotencyRecord, RememberedAnswer } from '../../store.ts';

type AnswerName = Pick<IdempotencyRecord, 'ownerId' | 'key'>;

export interface KeptAnswer extends RememberedAnswer {
  readonly createdAt: number;
}

interface AnswerRow {
  owner: string;
  key: string;
  fingerprint: string;
  outcome: RememberedAnswer['outcome'];
  link: string;
  created_at: number;
}

export const answerName = ({ ownerId, key }: AnswerName): string => JSON.stringify([ownerId, key]);

/** By `answerName`; also those that are too old to be given again. */
export async function readAnswers(
  query: PostgresTransaction['query'],
  names: readonly AnswerName[],
): Promise<Map<string, KeptAnswer>> {
  if (names.length === 0) return new Map();
  const rows = await query<AnswerRow>(
    `SELECT owner, key, fingerprint, outcome, link, created_at FROM idempotency
     WHERE (owner, key) IN (SELECT * FROM unnest($1::text[], $2::text[]))`,
    [names.map(({ ownerId }) => ownerId), names.map(({ key }) => key)],
    { name: 'recall' },
  );
  return new Map(
    rows.map(({ owner, key, fingerprint, outcome, link, created_at }) => [
      answerName({ ownerId: owner, key }),
      { fingerprint, outcome, link: JSON.parse(link) as Link, createdAt: created_at },
    ]),
  );
}

export function stillValid(
  answer: KeptAnswer | undefined,
  { validAfter }: IdempotencyRecord,
): RememberedAnswer | undefined {
  if (answer === undefined || answer.createdAt < validAfter) return undefined;
  const { outcome, link, fingerprint } = answer;
  return { outcome, link, fingerprint };
}

/** In place of what was remembered under the same key before. */
export async function keepAnswers(
  tx: PostgresTransaction,
  answers: readonly (AnswerName & KeptAnswer)[],
): Promise<void> {
  if (answers.length === 0) return;
  const rows = answers.map(
    ({ ownerId, key, fingerprint, outcome, link, createdAt }): AnswerRow => ({
      owner: ownerId,
      key,
      fingerprint,
      outcome,
      link: JSON.stringify(link),
      created_at: createdAt,
    }),
  );
  await tx.query(
    `INSERT INTO idempotency (owner, key, fingerprint, outcome, link, created_at)
     SELECT owner, key, fingerprint, outcome, link, created_at FROM json_to_recordset($1::json)
       AS answer(owner text, key text, fingerprint text, outcome text, link text, created_at int8)
     ON CONFLICT (owner, key) DO UPDATE SET fingerprint = excluded.fingerprint, outcome = excluded.outcome,
       link = excluded.link, created_at = excluded.created_at`,
    [JSON.stringify(rows)],
    { name: 'keep-answers' },
  );
}
