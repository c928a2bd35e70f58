/**
 * Leased spans and claims. A transaction that claims an id locks the spans of its code space (shared) from
 * before they are read until the claim is committed; a lease takes that lock exclusively. So no id is ever both leased
 * and claimed.
 *
 * A replica that was promoted, or a copy that was restored, may not know the last leases of the server that it
 * replaces. It has another lineage than that server (schema.ts). Until the first lease from it, which skips more ids
 * than can have been forgotten, all of those count as leased: processes still make links from them, and no alias may
 * claim one.
 */
import type { Postgres, PostgresTransaction } from '../../../engines/postgres/postgres.ts';
import { type LeaseRequest, nextRange } from '../../leased-spans.ts';
import type { Claim, LeasedSpan, RangeLease } from '../../store.ts';

export const claimName = ({ length, id }: Claim): string => `${length}:${id}`;

/** How many ids are passed over when the server is not the one that leased last: more than it can have been behind. */
export const forgottenIdsMax = 10_000_000;

/** By length; a space that was never leased from has none. */
export async function readSpans(
  query: PostgresTransaction['query'],
  claims: readonly Pick<Claim, 'length'>[],
): Promise<Map<number, LeasedSpan[]>> {
  if (claims.length === 0) return new Map();
  const rows = await query<LeasedSpan & { length: number }>(
    `SELECT length, first, CASE WHEN lineage = terse_lineage() THEN mark ELSE mark + $2::int8 END AS mark
     FROM ranges WHERE length = ANY($1) ORDER BY first`,
    [[...new Set(claims.map(({ length }) => length))], forgottenIdsMax],
    { name: 'spans' },
  );
  const byLength = Map.groupBy(rows, ({ length }) => length);
  return new Map(
    Array.from(byLength, ([length, spans]) => [length, spans.map(({ first, mark }) => ({ first, mark }))]),
  );
}

/** By `claimName`: those of the claims that were made before. */
export async function readClaims(
  query: PostgresTransaction['query'],
  claims: readonly Claim[],
): Promise<Set<string>> {
  if (claims.length === 0) return new Set();
  const rows = await query<Claim>(
    'SELECT length, id FROM claims WHERE (length, id) IN (SELECT * FROM unnest($1::int4[], $2::int8[]))',
    columnsOf(claims),
    { name: 'find-claims' },
  );
  return new Set(rows.map(claimName));
}

export async function addClaims(tx: PostgresTransaction, claims: readonly Claim[]): Promise<void> {
  if (claims.length === 0) return;
  await tx.query(
    'INSERT INTO claims (length, id) SELECT * FROM unnest($1::int4[], $2::int8[])',
    columnsOf(claims),
    { name: 'add-claims' },
  );
}

export function leaseRange(postgres: Postgres, length: number, request: LeaseRequest): Promise<RangeLease> {
  return postgres.transaction(async tx => {
    await lockMark(tx, length);
    await tx.query(
      `UPDATE ranges SET mark = mark + $2, lineage = terse_lineage()
       WHERE length = $1 AND lineage <> terse_lineage()`,
      [length, forgottenIdsMax],
    );
    const spans = (await readSpans(tx.query, [{ length }])).get(length) ?? [];
    const { from, to } = nextRange(spans, request);
    const claimed = await tx.query<{ id: number }>(
      'SELECT id FROM claims WHERE length = $1 AND id >= $2 AND id < $3 ORDER BY id',
      [length, from, to],
    );
    await tx.query(
      `INSERT INTO ranges (length, first, mark) VALUES ($1, $2, $3)
       ON CONFLICT (length, first) DO UPDATE SET mark = excluded.mark`,
      [length, request.first, to],
    );
    await tx.query('DELETE FROM claims WHERE length = $1 AND id >= $2 AND id < $3', [
      length,
      request.first,
      to,
    ]);
    return { from, to, claimed: claimed.map(({ id }) => id) };
  });
}

const columnsOf = (claims: readonly Claim[]): [number[], number[]] => [
  claims.map(({ length }) => length),
  claims.map(({ id }) => id),
];

/*
 * The locks that order transactions on links, apart from row locks. Every transaction takes them before the first row
 * is written, in the order of this list and each kind in the order of its numbers, so that there is no deadlock.
 * Postgres releases them when the transaction ends, however it ends.
 */

/** The first number of an advisory lock: that it is Terse's and what it is about. */
const answerKeys = 0x7e25e01;
const ownedUrls = 0x7e25e02;
const codeLengths = 0x7e25e03;

/** Keys share a bounded number of locks, because the server's memory for locks is bounded. */
const slotsMax = 128;

/** Keeps others from answering under these idempotency keys meanwhile. */
export const lockAnswers = (tx: PostgresTransaction, hashes: readonly number[]): Promise<void> =>
  lockEach(tx, 'pg_advisory_xact_lock', answerKeys, hashes.map(slotOf));

/** Keeps others from looking for and making a link of these owners to these URLs meanwhile. */
export const lockUrls = (tx: PostgresTransaction, hashes: readonly number[]): Promise<void> =>
  lockEach(tx, 'pg_advisory_xact_lock', ownedUrls, hashes.map(slotOf));

/** Keeps the marks of these code spaces where they are; others may hold the same. Leases wait their turn. */
export const holdMarks = (tx: PostgresTransaction, lengths: readonly number[]): Promise<void> =>
  lockEach(tx, 'pg_advisory_xact_lock_shared', codeLengths, lengths);

/** For a transaction that moves the mark of a code space. */
const lockMark = (tx: PostgresTransaction, length: number): Promise<void> =>
  lockEach(tx, 'pg_advisory_xact_lock', codeLengths, [length]);

const slotOf = (hash: number): number => hash % slotsMax;

async function lockEach(
  tx: PostgresTransaction,
  lock: string,
  kind: number,
  numbers: readonly number[],
): Promise<void> {
  if (numbers.length === 0) return;
  const inOrder = [...new Set(numbers)].sort((a, b) => a - b);
  await tx.query(`SELECT ${lock}($1, number) FROM unnest($2::int4[]) AS number`, [kind, inOrder]);
}
