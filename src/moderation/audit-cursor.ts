/** Entries are numbered in the order of writing; their id, and a page's cursor, is that number in base 36. */
import { Problem } from '../base/errors.ts';

export function auditSeqOf(cursor: string): number {
  const seq = /^[0-9a-z]{1,10}$/.test(cursor) ? Number.parseInt(cursor, 36) : Number.NaN;
  if (Number.isSafeInteger(seq)) return seq;
  throw new Problem('invalid_request', {
    detail: 'This cursor was not given out by Terse.',
    fields: { field: 'cursor' },
  });
}
