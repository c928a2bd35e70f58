/**
 * A range of time, cut so that visitors are read from as few rows as can be: whole days, then the quarter hours that are
 * left at both ends, and of those the minutes.
 */
import { type Grain, grainMs } from '../../warehouse.ts';

export interface Span {
  readonly grain: Grain;
  readonly from: number;
  readonly to: number;
}

const coarseToFine: readonly Grain[] = ['day', 'quarter', 'minute'];

export function spansOf(from: number, to: number, grains: readonly Grain[] = coarseToFine): Span[] {
  const [grain, ...finer] = grains;
  if (grain === undefined || from >= to) return [];
  const first = Math.ceil(from / grainMs[grain]) * grainMs[grain];
  const last = Math.floor(to / grainMs[grain]) * grainMs[grain];
  if (first >= last) return spansOf(from, to, finer);
  return [{ grain, from: first, to: last }, ...spansOf(from, first, finer), ...spansOf(last, to, finer)];
}
