/**
 * Which ids the next lease takes, given those that were leased before. Shares are divided again when the number of
 * regions changes, and spans leased under the old division stay where they are; so a lease starts after every span that
 * reaches into its share and ends before the next one that starts there.
 *
 * Invariant: a lease has no id in common with any existing span, whatever shares there have been.
 */
import type { LeasedSpan } from './store.ts';

export interface LeaseRequest {
  /** Where the share begins and, exclusively, ends. */
  readonly first: number;
  readonly limit: number;
  /** How many ids are wanted; near the end of the share there are fewer. */
  readonly size: number;
}

export function nextRange(
  spans: readonly LeasedSpan[],
  request: LeaseRequest,
): { readonly from: number; readonly to: number } {
  const own = spans.find(({ first }) => first === request.first);
  const { begin, end } = roomFor(spans, request);
  const from = Math.max(begin, own?.mark ?? 0);
  return { from, to: Math.max(from, Math.min(from + request.size, end)) };
}

/** The part of a share that is not covered by spans of other shares. */
export function roomFor(
  spans: readonly LeasedSpan[],
  { first, limit }: Pick<LeaseRequest, 'first' | 'limit'>,
): { readonly begin: number; readonly end: number } {
  const before = spans.filter(span => span.first < first);
  const behind = spans.filter(span => span.first > first);
  return {
    begin: Math.max(first, ...before.map(({ mark }) => mark)),
    end: Math.min(limit, ...behind.map(span => span.first)),
  };
}

export function isLeased(spans: readonly LeasedSpan[], id: number): boolean {
  return spans.some(({ first, mark }) => id >= first && id < mark);
}

/** The gaps between the spans: where claims can be. */
export function gapsBetween(spans: readonly LeasedSpan[]): { readonly from: number; readonly to: number }[] {
  const inOrder = spans.toSorted((one, other) => one.first - other.first);
  const gaps: { from: number; to: number }[] = [];
  let from = 0;
  for (const { first, mark } of inOrder) {
    if (first > from) gaps.push({ from, to: first });
    from = Math.max(from, mark);
  }
  return [...gaps, { from, to: Number.MAX_SAFE_INTEGER }];
}
