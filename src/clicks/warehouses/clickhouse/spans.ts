/** A range of time, cut so that it is read from as few rows as can be. */
import { type Grain, grainMs, type TimeRange } from '../../warehouse.ts';

export interface Span extends TimeRange {
  readonly grain: Grain;
}

const coarseToFine: readonly Grain[] = ['day', 'quarter', 'minute'];

/** Whole days, then the quarter hours that are left at both ends, and of those the minutes. */
export function spansOf(from: number, to: number, grains: readonly Grain[] = coarseToFine): Span[] {
  const [grain, ...finer] = grains;
  if (grain === undefined || from >= to) return [];
  const first = Math.ceil(from / grainMs[grain]) * grainMs[grain];
  const last = Math.floor(to / grainMs[grain]) * grainMs[grain];
  if (first >= last) return spansOf(from, to, finer);
  return [{ grain, from: first, to: last }, ...spansOf(from, first, finer), ...spansOf(last, to, finer)];
}

export interface ListSpans {
  readonly days: readonly TimeRange[];
  readonly quarters: readonly TimeRange[];
  /** What only single clicks have. */
  readonly singles: readonly TimeRange[];
  /** The range as far as lists cover it, when that is more than was asked for: of whole days up to `until`. */
  readonly widened: (TimeRange & { readonly until: number }) | undefined;
}

/**
 * Where lists of a range are read. By the quarter hour they are complete from `listsFrom` on; before it, the ends of a
 * range that are no whole days are read from single clicks, and when those are gone, lists are of the whole days.
 */
export function listSpansOf({ from, to }: TimeRange, listsFrom: number, singlesFrom: number): ListSpans {
  const [days, quarters, singles]: TimeRange[][] = [[], [], []];
  const widened = new Map<number, TimeRange>();
  for (const span of spansOf(from, to)) {
    if (span.grain === 'day') days!.push(span);
    else if (span.from < listsFrom && span.from < singlesFrom) {
      const start = Math.floor(span.from / grainMs.day) * grainMs.day;
      widened.set(start, { from: start, to: start + grainMs.day });
    } else if (span.from < listsFrom || span.grain === 'minute') singles!.push(span);
    else quarters!.push(span);
  }
  const whole = [...widened.values()];
  const until = Math.max(0, ...whole.map(day => day.to));
  const range = { from: Math.min(from, ...whole.map(day => day.from)), to: Math.max(to, until), until };
  return {
    days: [...days!, ...whole],
    quarters: quarters!,
    singles: singles!,
    widened: until === 0 ? undefined : range,
  };
}
