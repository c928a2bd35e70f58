/**
 * One part on both sides, and the walks over it: copying all of it, adding up what a side has, updating the target, and
 * removing from the target what the source no longer has. A walk holds one page in memory.
 */
import type { Transfer, TransferRecord } from '../../base/transfer.ts';
import { type Checksum, canonicalText, Digest } from './digest.ts';
import type { RetryPolicy } from './retry-policy.ts';

export interface Part {
  readonly name: string;
  readonly source: Transfer;
  readonly target: Transfer;
  /** What the target gets for a record of the source; the same unless given. */
  readonly outgoing: (value: unknown) => unknown;
  /** Whether the target's record is acceptable where it need not be the same. */
  readonly suffices?: (source: unknown, target: unknown) => boolean;
  /** Records that no longer count are neither copied nor compared. */
  readonly isCurrent: (value: unknown) => boolean;
  /** Records that either side may delete at any time are copied, and not compared. */
  readonly mayVanish?: (value: unknown) => boolean;
}

export const plainPart = (source: Transfer, target: Transfer): Part => ({
  name: source.part,
  source,
  target,
  outgoing: value => value,
  isCurrent: () => true,
});

/** Bounds memory, and the work that a kill loses. */
const pageRecordsMax = 500;

type OnPage = (records: number) => Promise<void>;

/** `onPage` receives the start of the next page, once this one is durable. */
export async function copyAll(
  part: Part,
  start: string | undefined,
  retry: RetryPolicy,
  onPage: (records: number, next: string | undefined) => Promise<void>,
): Promise<void> {
  let cursor = start;
  do {
    const page = await retry.run(() => part.source.page(cursor, pageRecordsMax));
    const current = page.records.filter(({ value }) => part.isCurrent(value));
    await write(part, current, retry);
    await onPage(current.length, page.next);
    cursor = page.next;
  } while (cursor !== undefined);
}

export async function digestOf(
  part: Part,
  side: 'source' | 'target',
  retry: RetryPolicy,
  onPage: OnPage,
): Promise<Digest> {
  const digest = new Digest();
  for await (const records of pagesOf(part, side, retry, onPage)) {
    for (const record of records) digest.add(nameOf(part, record), canonicalText(record.value));
  }
  return digest;
}

/** How many records were written, and how many of those were not there before. */
interface Written {
  readonly written: number;
  readonly added: number;
}

/** Writes records that the target lacks or has differently, among those that may differ. */
async function bringUpToDate(
  part: Part,
  mayDiffer: (name: string) => boolean,
  retry: RetryPolicy,
  onPage: OnPage,
): Promise<Written> {
  let [written, added] = [0, 0];
  for await (const records of suspectsOf(part, 'source', mayDiffer, retry, onPage)) {
    const there = await lookUp(part.target, records, retry);
    const differing = records.flatMap(({ key, value }) => {
      const before = there.get(key);
      if (before === undefined) return { key, value };
      const isEnough = part.suffices?.(value, before) ?? canonicalText(value) === canonicalText(before);
      return isEnough ? [] : { key, value, before };
    });
    await write(part, differing, retry);
    written += differing.length;
    added += differing.filter(record => !('before' in record)).length;
  }
  return { written, added };
}

/** Removes records that the source does not have, among those that may differ; returns how many. */
async function removeForeign(
  part: Part,
  mayDiffer: (name: string) => boolean,
  retry: RetryPolicy,
  onPage: OnPage,
): Promise<number> {
  const { source, target } = part;
  if (target.remove === undefined) return 0;
  let removed = 0;
  for await (const records of suspectsOf(part, 'target', mayDiffer, retry, onPage)) {
    const there = await lookUp(source, records, retry);
    const foreign = records
      .map(({ key }) => key)
      .filter(key => !there.has(key) && (target.isRemovable?.(key) ?? true));
    if (foreign.length > 0) await retry.run(() => target.remove!(foreign));
    removed += foreign.length;
  }
  return removed;
}

/** Immutable records are identified by content, because an engine may keep them under a key of its own. */
const nameOf = ({ target }: Part, { key, value }: TransferRecord): string =>
  target.remove === undefined ? canonicalText(value) : key;

/** Collects the few that may differ, to look them up together. */
async function* suspectsOf(
  part: Part,
  side: 'source' | 'target',
  mayDiffer: (name: string) => boolean,
  retry: RetryPolicy,
  onPage: OnPage,
): AsyncGenerator<TransferRecord[]> {
  let gathered: TransferRecord[] = [];
  for await (const records of pagesOf(part, side, retry, onPage)) {
    gathered.push(...records.filter(record => mayDiffer(nameOf(part, record))));
    if (gathered.length < pageRecordsMax) continue;
    yield gathered;
    gathered = [];
  }
  if (gathered.length > 0) yield gathered;
}

async function* pagesOf(
  part: Part,
  side: 'source' | 'target',
  retry: RetryPolicy,
  onPage: OnPage,
): AsyncGenerator<TransferRecord[]> {
  let cursor: string | undefined;
  do {
    const page = await retry.run(() => part[side].page(cursor, pageRecordsMax));
    yield page.records.filter(({ value }) => part.isCurrent(value) && !part.mayVanish?.(value));
    await onPage(page.records.length);
    cursor = page.next;
  } while (cursor !== undefined);
}

async function lookUp(
  transfer: Transfer,
  records: readonly TransferRecord[],
  retry: RetryPolicy,
): Promise<Map<string, unknown>> {
  const found = await retry.run(() => transfer.read(records.map(({ key }) => key)));
  return new Map(found.map(({ key, value }) => [key, value]));
}

async function write(part: Part, records: readonly TransferRecord[], retry: RetryPolicy): Promise<void> {
  if (records.length === 0) return;
  const outgoing = records.map(record => ({ ...record, value: part.outgoing(record.value) }));
  await retry.write(part.name, outgoing, each => part.target.write(each));
}

/**
 * One round over all parts. Both sides of each are added up; where the sums differ, the source's records are copied to
 * the target, and then records that the source lacks are removed from the target.
 */

/** The result of a round for one part. */
export interface Comparison {
  readonly part: string;
  readonly source: Checksum;
  readonly target: Checksum;
  readonly written: number;
  readonly removed: number;
  /** Whether both sides held the same when they were added up; for marks, whether the target's were no lower. */
  readonly isEqual: boolean;
}

interface Sums extends Written {
  readonly source: Digest;
  readonly target: Digest;
}

export async function compareParts(
  parts: readonly Part[],
  retry: RetryPolicy,
  onPage: (part: Part, records: number) => Promise<void>,
): Promise<Comparison[]> {
  const sums = new Map<Part, Sums>();
  for (const part of parts) sums.set(part, await compareAndUpdate(part, retry, n => onPage(part, n)));
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
            retry,
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

async function compareAndUpdate(
  part: Part,
  retry: RetryPolicy,
  onPage: (records: number) => Promise<void>,
): Promise<Sums> {
  const source = await digestOf(part, 'source', retry, onPage);
  const target = await digestOf(part, 'target', retry, onPage);
  if (source.equals(target)) return { source, target, written: 0, added: 0 };
  const update = await bringUpToDate(part, name => source.differsAt(name, target), retry, onPage);
  return { source, target, ...update };
}
