/**
 * Marks and claims. Who claims an id holds the mark of its code space where it is (locks.ts) from before it is read
 * until the claim is committed; who leases takes that lock alone. So no id is ever both leased and claimed.
 */
import type { Postgres, PostgresTransaction } from '../../../engines/postgres/postgres.ts';
import type { Claim, RangeLease } from '../../store.ts';
import { lockMark } from './locks.ts';

export const claimName = ({ length, id }: Claim): string => `${length}:${id}`;

/** By length; what was never leased from has none, which means 0. */
export async function readMarks(
  query: PostgresTransaction['query'],
  claims: readonly Pick<Claim, 'length'>[],
): Promise<Map<number, number>> {
  if (claims.length === 0) return new Map();
  const rows = await query<{ length: number; mark: number }>(
    'SELECT length, mark FROM ranges WHERE length = ANY($1)',
    [[...new Set(claims.map(({ length }) => length))]],
    { name: 'marks' },
  );
  return new Map(rows.map(({ length, mark }) => [length, mark]));
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

export function leaseRange(
  postgres: Postgres,
  length: number,
  size: number,
  limit: number,
): Promise<RangeLease> {
  return postgres.transaction(async tx => {
    await lockMark(tx, length);
    const from = (await readMarks(tx.query, [{ length }])).get(length) ?? 0;
    const to = Math.max(from, Math.min(from + size, limit));
    const claimed = await tx.query<{ id: number }>(
      'SELECT id FROM claims WHERE length = $1 AND id >= $2 AND id < $3 ORDER BY id',
      [length, from, to],
    );
    await tx.query(
      'INSERT INTO ranges (length, mark) VALUES ($1, $2) ON CONFLICT (length) DO UPDATE SET mark = excluded.mark',
      [length, to],
    );
    await tx.query('DELETE FROM claims WHERE length = $1 AND id < $2', [length, to]);
    return { from, to, claimed: claimed.map(({ id }) => id) };
  });
}

const columnsOf = (claims: readonly Claim[]): [number[], number[]] => [
  claims.map(({ length }) => length),
  claims.map(({ id }) => id),
];
