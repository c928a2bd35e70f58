/**
 * Leased spans and claims. Who claims an id holds the spans of its code space as they are (locks.ts) from before they are
 * read until the claim is committed; who leases takes that lock alone. So no id is ever both leased and claimed.
 *
 * A replica that was promoted, or a copy that was restored, may not know the last leases of the server that it replaces.
 * It has another lineage than that server (schema.ts), so the first lease from it passes over more ids than can have been
 * forgotten, and none is given twice.
 */
import type { Postgres, PostgresTransaction } from '../../../engines/postgres/postgres.ts';
import { type LeaseRequest, nextRange } from '../../leased-spans.ts';
import type { Claim, LeasedSpan, RangeLease } from '../../store.ts';
import { lockMark } from './locks.ts';

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
    'SELECT length, first, mark FROM ranges WHERE length = ANY($1) ORDER BY first',
    [[...new Set(claims.map(({ length }) => length))]],
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
