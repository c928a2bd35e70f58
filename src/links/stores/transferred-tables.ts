/** The tables of the link store that are alike in all SQL databases, as they are carried in a migration. */
import type { TransferredTable } from '../../base/transferred-table.ts';
import type { Claim } from '../store.ts';
import type { MarkCopy } from '../transfer.ts';

export const marksTable: TransferredTable<MarkCopy, MarkCopy> = {
  part: 'marks',
  table: 'ranges',
  key: ['length', 'first'],
  columns: ['length', 'first', 'mark'],
  raised: ['mark'],
  rowOf: copy => ({ ...copy }),
  valueOf: ({ length, first, mark }) => ({ length, first, mark }),
};

export const claimsTable: TransferredTable<Claim, Claim> = {
  part: 'claims',
  table: 'claims',
  key: ['length', 'id'],
  columns: ['length', 'id'],
  rowOf: claim => ({ ...claim }),
  valueOf: ({ length, id }) => ({ length, id }),
};
