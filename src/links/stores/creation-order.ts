/**
 * Where a time of creation lies among rows, which are numbered as they are stored. That is nearly the order of creation:
 * requests overtake one another, and queued links are stored late. So a walk over some hours of creation starts and
 * ends with a margin, and what lies in it is decided by the times themselves.
 */
import type { ListFilter, ListQuery } from '../store.ts';

/** Links are never stored this long after they were created. */
const marginMs = 24 * 60 * 60 * 1_000;

export interface NumberedRow {
  readonly id: number;
  readonly created_at: number;
}

export interface RowNumbers {
  /** The row with the lowest number from `id` on. */
  readonly firstFrom: (id: number) => Promise<NumberedRow | undefined>;
  readonly last: () => Promise<number>;
}

/** The row number to begin behind; undefined where the walk has to begin at its end. */
export async function startOfWalk(
  { order, createdFrom, createdTo }: Pick<ListQuery, 'order'> & ListFilter,
  rows: RowNumbers,
): Promise<number | undefined> {
  if (order === 'newest') return createdTo === undefined ? undefined : numberAt(createdTo + marginMs, rows);
  return createdFrom === undefined ? undefined : (await numberAt(createdFrom - marginMs, rows)) - 1;
}

/** Whether nothing that is wanted can lie behind a row of this time. */
export function isBehind(
  createdAt: number,
  { order, createdFrom, createdTo }: Pick<ListQuery, 'order'> & ListFilter,
): boolean {
  if (order === 'newest') return createdFrom !== undefined && createdAt < createdFrom - marginMs;
  return createdTo !== undefined && createdAt >= createdTo + marginMs;
}

/** From which number on rows were created at that time or later, found by halving. */
async function numberAt(timeMs: number, { firstFrom, last }: RowNumbers): Promise<number> {
  let low = 0;
  let high = (await last()) + 1;
  while (low < high) {
    const middle = low + Math.floor((high - low) / 2);
    const row = await firstFrom(middle);
    if (row !== undefined && row.created_at < timeMs) low = row.id + 1;
    else high = middle;
  }
  return low;
}
