/**
 * Inserting many items as if one after the other, in a few statements. Leased codes without any further wish, which
 * are most, are one statement that commits by itself. All others share a transaction (insert-batch.ts).
 */
import type { Postgres } from '../../../engines/postgres/postgres.ts';
import type { InsertItem, InsertOutcome } from '../../store.ts';
import { InsertBatch, type KeepReviews } from './insert-batch.ts';
import { insertRows } from './insert-rows.ts';

export type InsertItems = (items: readonly InsertItem[], deadlineMs: number) => Promise<InsertOutcome[]>;

export function createInserter(postgres: Postgres, keepReviews: KeepReviews): InsertItems {
  return async (items, deadlineMs) => {
    if (!items.every(isPlain)) {
      return postgres.transaction(tx => new InsertBatch(tx, items, keepReviews).run(), { deadlineMs });
    }
    const rows = items.map(item => ({ item }));
    const added = await insertRows(postgres.query, rows, deadlineMs);
    return items.map(({ link }) => ({ kind: added.delete(link.code) ? 'inserted' : 'taken' }));
  };
}

const isPlain = ({ leased, claim, existing, idempotency, trace }: InsertItem): boolean =>
  leased && claim === undefined && existing === 'ignored' && idempotency === undefined && trace === undefined;
