/**
 * Row numbers for links that are copied into an SQL database. Lists go by row number, so each gets one that stands for
 * its time of creation: whatever order links come in, the newest are listed first, and links made later come after.
 */

/** No link is older. Numbers stay within what a list cursor can say until 2082. */
const firstMs = Date.UTC(2026, 0, 1);
const numbersPerMs = 2_048;

export interface NumberBlock {
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
}

/** `lastIn` gives the highest number taken in each of the blocks, null where there is none. */
export async function rowNumbersFor(
  createdAts: readonly number[],
  lastIn: (blocks: readonly NumberBlock[]) => Promise<(number | null)[]>,
): Promise<number[]> {
  const nextOf = new Map<number, number>();
  const learn = async (starts: readonly number[]): Promise<void> => {
    const blocks = starts.map(start => ({ start, end: start + numbersPerMs }));
    const lasts = await lastIn(blocks);
    for (const [index, { start }] of blocks.entries()) nextOf.set(start, (lasts[index] ?? start - 1) + 1);
  };
  const starts = createdAts.map(createdAt => Math.max(0, createdAt - firstMs) * numbersPerMs);
  await learn([...new Set(starts)]);
  const numbers: number[] = [];
  for (const wanted of starts) {
    let start = wanted;
    // A bulk call makes more links than its millisecond has numbers: it goes on in the next.
    while (nextOf.get(start)! >= start + numbersPerMs) {
      start += numbersPerMs;
      if (!nextOf.has(start)) await learn([start]);
    }
    const number = nextOf.get(start)!;
    nextOf.set(start, number + 1);
    numbers.push(number);
  }
  return numbers;
}
