/**
 * Numbers for a stream that producers share. A click belongs to the partition of its link's code, and a producer
 * numbers the clicks of each partition separately. Clicks are numbered once, before they can fail or wait, and keep
 * their numbers: a batch that is appended again, by the same process or by one that inherited it, is cut into the same
 * parts with the same numbers, and is recognised as a duplicate.
 *
 * Invariant: the numbers of all partitions add up to the producer's own newest number. Clicks that were lost before
 * they came here are a gap in the first partition.
 */
import { type ClickBatch, clickCount, clicksAt, listColumns, listOf } from './click.ts';

/** Must never change for a code: clicks that were spilled long ago are cut by it, too. */
export function partitionOf(code: string, partitions: number): number {
  return Bun.hash.crc32(code) % partitions;
}

export class PartitionNumbers {
  /** How many numbers each partition has been given; kept in memory that survives this thread. */
  readonly #given: Float64Array;

  constructor(given: Float64Array) {
    this.#given = given;
  }

  number(batch: ClickBatch): ClickBatch {
    const given = this.#given;
    const numbered = given.reduce((sum, count) => sum + count, 0);
    given[0]! += Math.max(0, batch.firstSequence - 1 - numbered);
    const givenBefore = Array.from(given);
    const partitions = partitionsOfLinks(batch, given.length);
    for (const link of batch.link) given[partitions[link]!]! += 1;
    return { ...batch, givenBefore };
  }
}

export interface BatchPart {
  readonly partition: number;
  readonly batch: ClickBatch;
}

/** Cuts a numbered batch by partition. Each part has only the list entries that its own clicks need. */
export function partsOf(batch: ClickBatch): BatchPart[] {
  const { givenBefore } = batch;
  if (givenBefore === undefined) throw new Error('clicks must be numbered before they are cut into parts');
  const partitions = partitionsOfLinks(batch, givenBefore.length);
  const indexes = new Map<number, number[]>();
  for (let index = 0; index < clickCount(batch); index += 1) {
    const partition = partitions[batch.link[index]!]!;
    const known = indexes.get(partition);
    if (known === undefined) indexes.set(partition, [index]);
    else known.push(index);
  }
  return [...indexes].map(([partition, chosen]) => ({
    partition,
    batch: pick(batch, chosen, givenBefore[partition]! + 1),
  }));
}

/** Both halves of a part, numbered consecutively. */
export function halvesOf(batch: ClickBatch): [ClickBatch, ClickBatch] {
  const count = clickCount(batch);
  const middle = Math.ceil(count / 2);
  const range = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index);
  return [
    pick(batch, range(0, middle), batch.firstSequence),
    pick(batch, range(middle, count), batch.firstSequence + middle),
  ];
}

function partitionsOfLinks({ links }: ClickBatch, partitions: number): number[] {
  return links.map(({ code }) => partitionOf(code, partitions));
}

/** Some clicks of a batch, with only the entries of its lists that they point to. */
function pick(batch: ClickBatch, chosen: readonly number[], firstSequence: number): ClickBatch {
  const { givenBefore: _, ...picked } = clicksAt(batch, chosen);
  const lists = listColumns.map(name => {
    const { list, column } = used<unknown>(batch[listOf[name]], picked[name]);
    return { [listOf[name]]: list, [name]: column };
  });
  return Object.assign({ ...picked, firstSequence }, ...lists);
}

/** The entries that a column points to, and the column with its new positions. */
function used<Entry>(list: readonly Entry[], column: Uint32Array): { list: Entry[]; column: Uint32Array } {
  const newPlaces = new Int32Array(list.length).fill(-1);
  const kept: Entry[] = [];
  const pointing = new Uint32Array(column.length);
  for (let index = 0; index < column.length; index += 1) {
    const place = column[index]!;
    if (newPlaces[place] === -1) newPlaces[place] = kept.push(list[place]!) - 1;
    pointing[index] = newPlaces[place]!;
  }
  return { list: kept, column: pointing };
}
