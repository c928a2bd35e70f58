/** A list cursor is a row number in base 36: short, URL-safe, and plain to read in a log. */
import { Problem } from '../../base/errors.ts';

export const cursorOf = (rowId: number): string => rowId.toString(36);

export function rowIdOf(cursor: string): number {
  const rowId = /^[0-9a-z]{1,10}$/.test(cursor) ? Number.parseInt(cursor, 36) : Number.NaN;
  if (Number.isSafeInteger(rowId)) return rowId;
  throw new Problem('invalid_request', {
    detail: 'This cursor was not given out by Terse.',
    fields: { field: 'cursor' },
  });
}
