/**
 * What transactions on links wait for each other by, apart from rows. Everyone takes these locks before the first row
 * is written, in the order of this file and each kind in the order of its numbers, so that nobody waits in a circle.
 * Postgres lets go of them when the transaction ends, however it ends.
 */
import type { PostgresTransaction } from '../../../engines/postgres/postgres.ts';

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

/** For whoever moves the mark of a code space. */
export const lockMark = (tx: PostgresTransaction, length: number): Promise<void> =>
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
