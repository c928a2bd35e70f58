/**
 * Removing what is old, in bites. Rows that somebody else is working on, another sweeper above all, are left for the
 * next time: nobody waits for a sweep, and a sweep for nobody.
 */
import type { Postgres } from '../../../engines/postgres/postgres.ts';
import type { PruneAge } from '../../store.ts';
import { statusNumber } from '../rows.ts';
import { removeTags, tagRowsOf } from './tags.ts';

const emptied = `long_url = '', url_hash = 0, status = ${statusNumber('deleted')}, title = NULL, tags = NULL, risk = NULL,
  expires_at = NULL, version = version + 1`;

export function purgeExpired(postgres: Postgres, expiredBefore: number, limit: number): Promise<number> {
  return postgres.transaction(async tx => {
    const expired = await tx.query<{
      code: string;
      id: number;
      owner: string;
      tags: string | null;
      stays: boolean;
    }>(
      // Most generated codes are protected from reuse by the mark or their claim; others need their row.
      `SELECT code, id, owner, tags, custom = 1 OR guards_code = 1 AS stays FROM links
       WHERE expires_at < $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED`,
      [expiredBefore, limit],
    );
    if (expired.length === 0) return 0;
    const codesOf = (rows: typeof expired): string[] => rows.map(({ code }) => code);
    const staying = codesOf(expired.filter(({ stays }) => stays));
    const leaving = codesOf(expired.filter(({ stays }) => !stays));
    await removeTags(tx, expired.flatMap(tagRowsOf));
    await tx.query(`UPDATE links SET ${emptied} WHERE code = ANY($1)`, [staying]);
    await tx.query('DELETE FROM links WHERE code = ANY($1)', [leaving]);
    return expired.length;
  });
}

const pruneAnswers = `
  WITH old AS MATERIALIZED (
    SELECT owner, key FROM idempotency WHERE created_at < $1 ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED
  ), removed AS (
    DELETE FROM idempotency USING old WHERE idempotency.owner = old.owner AND idempotency.key = old.key RETURNING 1
  )
  SELECT count(*) AS removed FROM removed`;

const pruneChanges = `
  WITH old AS MATERIALIZED (
    SELECT seq FROM changes WHERE at < $1 ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED
  ), removed AS (
    DELETE FROM changes USING old WHERE changes.seq = old.seq RETURNING changes.seq
  )
  SELECT count(*) AS removed, max(seq) AS last FROM removed`;

export async function prune(
  postgres: Postgres,
  { answersBefore, changesBefore }: PruneAge,
  limit: number,
): Promise<number> {
  const [answers] = await postgres.query<{ removed: number }>(pruneAnswers, [answersBefore, limit]);
  const changes = await postgres.transaction(async tx => {
    const [row] = await tx.query<{ removed: number; last: number | null }>(pruneChanges, [
      changesBefore,
      limit,
    ]);
    // Whoever has not read as far as this has missed something, and is told so.
    if (row!.last !== null) {
      await tx.query('UPDATE feed SET pruned_seq = $1 WHERE pruned_seq < $1', [row!.last]);
    }
    return row!.removed;
  });
  return answers!.removed + changes;
}
