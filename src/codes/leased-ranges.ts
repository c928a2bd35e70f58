/**
 * Leased ids that are not yet minted, kept as ranges of two numbers each. An id that an alias claimed before
 * the lease is left out. Ids come out in order and at most once.
 */
export interface LeasedRange {
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
  readonly claimed: readonly number[];
}

export class LeasedRanges {
  #ranges: { next: number; readonly to: number; readonly claimed: ReadonlySet<number> }[] = [];
  #count = 0;

  /** Ids that `next` will still give. */
  get count(): number {
    return this.#count;
  }

  add(range: LeasedRange): void {
    const claimed = new Set(range.claimed.filter(id => id >= range.from && id < range.to));
    this.#ranges.push({ next: range.from, to: range.to, claimed });
    this.#count += range.to - range.from - claimed.size;
  }

  next(): number | undefined {
    for (let range = this.#ranges[0]; range !== undefined; range = this.#ranges[0]) {
      while (range.next < range.to) {
        const id = range.next;
        range.next += 1;
        if (range.claimed.has(id)) continue;
        this.#count -= 1;
        return id;
      }
      this.#ranges.shift();
    }
    return undefined;
  }
}
