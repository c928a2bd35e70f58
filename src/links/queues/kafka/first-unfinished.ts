/**
 * Where the first message of each partition lies that nobody has finished. A group that has finished more than there is
 * remembers a partition that has lost its end since, by an unclean election or with a disk: what was committed says nothing
 * of the messages that come to those places now. All that are kept count as unfinished then, for one that is given twice
 * does no harm, and one that is passed over is lost.
 */
export interface KnownOffsets {
  /** By partition, as the two below; must have been asked for before the ends. */
  readonly committed: ReadonlyMap<number, number>;
  readonly earliest: ReadonlyMap<number, number>;
  readonly ends: ReadonlyMap<number, number>;
}

export function firstUnfinished(
  partitions: readonly number[],
  { committed, earliest, ends }: KnownOffsets,
): Map<number, number> {
  const firstOf = (partition: number): number => {
    const first = earliest.get(partition) ?? 0;
    const finished = committed.get(partition) ?? 0;
    // A partition without a leader has no end for now, and its group is believed.
    return finished > (ends.get(partition) ?? finished) ? first : Math.max(first, finished);
  };
  return new Map(partitions.map(partition => [partition, firstOf(partition)]));
}
