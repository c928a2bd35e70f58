/**
 * One part on both sides, and the three walks over it: copying all of it, bringing the target up to date, and removing
 * from the target what the source no longer has. A walk holds one page in memory.
 */
import type { Transfer, TransferRecord } from '../../base/transfer.ts';
import { Checksum, canonicalText } from './checksum.ts';
import type { Steady } from './steady.ts';

export interface Part {
  readonly name: string;
  readonly source: Transfer;
  readonly target: Transfer;
  /** What the target is given for a record of the source; the same unless said otherwise. */
  readonly outgoing: (value: unknown) => unknown;
  /** Whether the target's record will do where it need not be the same. */
  readonly suffices?: (source: unknown, target: unknown) => boolean;
  /** Records that no longer count are neither copied nor compared. */
  readonly isCurrent: (value: unknown) => boolean;
}

export const plainPart = (source: Transfer, target: Transfer): Part => ({
  name: source.part,
  source,
  target,
  outgoing: value => value,
  isCurrent: () => true,
});

/** Bounds what is held in memory, and what a kill has done in vain. */
const pageRecordsMax = 500;

/** `onPage` hears where the next page begins, once this one is durable. */
export async function copyAll(
  part: Part,
  start: string | undefined,
  steady: Steady,
  onPage: (records: number, next: string | undefined) => Promise<void>,
): Promise<void> {
  let cursor = start;
  do {
    const page = await steady.run(() => part.source.page(cursor, pageRecordsMax));
    const current = page.records.filter(({ value }) => part.isCurrent(value));
    await write(part, current, steady);
    await onPage(current.length, page.next);
    cursor = page.next;
  } while (cursor !== undefined);
}

export interface Brought {
  readonly checksum: Checksum;
  readonly written: number;
}

/** Walks the source and writes what the target lacks or has otherwise. */
export async function bringUpToDate(
  part: Part,
  steady: Steady,
  onPage: (records: number) => Promise<void>,
): Promise<Brought> {
  const checksum = new Checksum();
  let written = 0;
  for await (const records of pagesOf(part.source, part, steady)) {
    const there = await lookUp(part.target, records, steady);
    const differing = records.filter(({ key, value }) => {
      const text = canonicalText(value);
      checksum.add(text);
      const found = there.get(key)?.value;
      if (found === undefined) return true;
      return !(part.suffices?.(value, found) ?? text === canonicalText(found));
    });
    await write(part, differing, steady);
    written += differing.length;
    await onPage(records.length);
  }
  return { checksum, written };
}

export interface Pruned {
  readonly checksum: Checksum;
  readonly removed: number;
}

/** Walks the target and removes what the source does not have. */
export async function removeForeign(
  part: Part,
  steady: Steady,
  onPage: (records: number) => Promise<void>,
): Promise<Pruned> {
  const { source, target } = part;
  const checksum = new Checksum();
  let removed = 0;
  for await (const records of pagesOf(target, part, steady)) {
    const there = target.remove && (await lookUp(source, records, steady));
    const foreign = there === undefined ? [] : records.filter(({ key }) => !there.has(key));
    if (foreign.length > 0) await steady.run(() => target.remove!(foreign.map(({ key }) => key)));
    removed += foreign.length;
    for (const record of records) {
      if (!foreign.includes(record)) checksum.add(canonicalText(record.value));
    }
    await onPage(records.length);
  }
  return { checksum, removed };
}

async function* pagesOf(
  transfer: Transfer,
  { isCurrent }: Part,
  steady: Steady,
): AsyncGenerator<TransferRecord[]> {
  let cursor: string | undefined;
  do {
    const page = await steady.run(() => transfer.page(cursor, pageRecordsMax));
    yield page.records.filter(({ value }) => isCurrent(value));
    cursor = page.next;
  } while (cursor !== undefined);
}

async function lookUp(
  transfer: Transfer,
  records: readonly TransferRecord[],
  steady: Steady,
): Promise<Map<string, TransferRecord>> {
  if (records.length === 0) return new Map();
  const found = await steady.run(() => transfer.read(records.map(({ key }) => key)));
  return new Map(found.map(record => [record.key, record]));
}

async function write(part: Part, records: readonly TransferRecord[], steady: Steady): Promise<void> {
  if (records.length === 0) return;
  const outgoing = records.map(({ key, value }) => ({ key, value: part.outgoing(value) }));
  await steady.write(part.name, outgoing, each => part.target.write(each));
}
