/** One round over all parts: what the source has is brought to the target, then what it lacks is taken away there. */
import type { Checksum } from './checksum.ts';
import { bringUpToDate, type Part, removeForeign } from './part.ts';
import type { Steady } from './steady.ts';

/** What a round found and did in one part. */
export interface Comparison {
  readonly part: string;
  readonly source: Checksum;
  readonly target: Checksum;
  readonly written: number;
  readonly removed: number;
  /** Whether both sides hold the same; of marks, whether the target's are no lower. */
  readonly isEqual: boolean;
}

export async function compareParts(
  parts: readonly Part[],
  steady: Steady,
  onPage: (part: Part, records: number) => Promise<void>,
): Promise<Comparison[]> {
  const brought = new Map<Part, Awaited<ReturnType<typeof bringUpToDate>>>();
  for (const part of parts) {
    brought.set(part, await bringUpToDate(part, steady, records => onPage(part, records)));
  }
  const comparisons: Comparison[] = [];
  // Backwards, because nothing is removed before what belongs to it.
  for (const part of parts.toReversed()) {
    const { checksum: source, written } = brought.get(part)!;
    const { checksum: target, removed } = await removeForeign(part, steady, records => onPage(part, records));
    const isEqual = part.suffices === undefined ? source.equals(target) : written === 0;
    comparisons.unshift({ part: part.name, source, target, written, removed, isEqual });
  }
  return comparisons;
}
