/**
 * One round over all parts. Both sides of each are added up; where the sums differ, the source's records are copied to
 * the target, and then records that the source lacks are removed from the target.
 */
import type { Checksum, Digest } from './digest.ts';
import { type Brought, bringUpToDate, digestOf, type Part, removeForeign } from './part.ts';
import type { RetryPolicy } from './retry-policy.ts';

/** What a round found and did in one part. */
export interface Comparison {
  readonly part: string;
  readonly source: Checksum;
  readonly target: Checksum;
  readonly written: number;
  readonly removed: number;
  /** Whether both sides held the same when they were added up; for marks, whether the target's were no lower. */
  readonly isEqual: boolean;
}

interface Sums extends Brought {
  readonly source: Digest;
  readonly target: Digest;
}

export async function compareParts(
  parts: readonly Part[],
  steady: RetryPolicy,
  onPage: (part: Part, records: number) => Promise<void>,
): Promise<Comparison[]> {
  const sums = new Map<Part, Sums>();
  for (const part of parts) sums.set(part, await addUpAndBring(part, steady, n => onPage(part, n)));
  const comparisons: Comparison[] = [];
  // Backwards, because dependent records are removed first.
  for (const part of parts.toReversed()) {
    const { source, target, written, added } = sums.get(part)!;
    const isSame = source.equals(target);
    // The target has all that the source has; with the same count it has nothing else, and is not walked.
    const isWhole = source.checksum.count === target.checksum.count + added;
    const removed =
      isSame || isWhole
        ? 0
        : await removeForeign(
            part,
            name => source.differsAt(name, target),
            steady,
            n => onPage(part, n),
          );
    const isEqual = isSame || (part.suffices !== undefined && written === 0 && removed === 0);
    const { checksum } = source;
    comparisons.unshift({
      part: part.name,
      source: checksum,
      target: target.checksum,
      written,
      removed,
      isEqual,
    });
  }
  return comparisons;
}

async function addUpAndBring(
  part: Part,
  steady: RetryPolicy,
  onPage: (records: number) => Promise<void>,
): Promise<Sums> {
  const source = await digestOf(part, 'source', steady, onPage);
  const target = await digestOf(part, 'target', steady, onPage);
  if (source.equals(target)) return { source, target, written: 0, added: 0 };
  const brought = await bringUpToDate(part, name => source.differsAt(name, target), steady, onPage);
  return { source, target, ...brought };
}
