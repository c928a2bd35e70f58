/** What is looked up the same way before a write and inside it: links to a URL, and remembered answers. */
import type { PostgresTransaction } from '../../../engines/postgres/postgres.ts';
import { withLaterFields } from '../../fields.ts';
import type { Link } from '../../link.ts';
import type { IdempotencyRecord, RememberedAnswer } from '../../store.ts';
import { type LinkRow, linkOf, ownerColumn, statusNumber, urlHash } from '../rows.ts';
import { linkColumns } from './schema.ts';

export type WantedUrl = Pick<Link, 'ownerId' | 'longUrl'> & { readonly now: number };

/** Links to one URL that are examined for a live one; more would be an owner creating the same link over and over. */
const sameUrlRowsMax = 64;

const newestLive = `
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
    newestLive,
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
      { fingerprint, outcome, link: withLaterFields(JSON.parse(link) as Link), createdAt: created_at },
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
