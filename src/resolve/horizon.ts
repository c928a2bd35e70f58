/**
 * Knows which generated codes cannot exist yet, so that a guess costs no I/O. A code decodes to an id; ids at
 * or above the mark were never leased, and the few that aliases claimed up there are kept in a set. One number
 * and a short list stand in for a Bloom filter over every link.
 */
export class Horizon {
  readonly #idOf: (code: string) => number | undefined;
  #mark = 0;
  #claimed: Float64Array = new Float64Array(0);
  #claimedSince = new Set<number>();

  /** `idOf` gives undefined for a code that does not have the shape of a generated one. */
  constructor(idOf: (code: string) => number | undefined) {
    this.#idOf = idOf;
  }

  get mark(): number {
    return this.#mark;
  }

  get claims(): number {
    return this.#claimed.length + this.#claimedSince.size;
  }

  reset(mark: number, claimedIds: readonly number[]): void {
    this.raise(mark);
    this.#claimed = Float64Array.from(claimedIds).sort();
    this.#claimedSince.clear();
  }

  /** The mark only ever grows, so news may arrive in any order. */
  raise(mark: number): void {
    if (mark > this.#mark) this.#mark = mark;
  }

  claim(id: number): void {
    this.#claimedSince.add(id);
  }

  judge(code: string): 'never issued' | 'leased' | 'unknown' {
    const id = this.#idOf(code);
    if (id === undefined) return 'unknown';
    if (id < this.#mark) return 'leased';
    return this.#claimedSince.has(id) || includesSorted(this.#claimed, id) ? 'unknown' : 'never issued';
  }
}

function includesSorted(sorted: Float64Array, wanted: number): boolean {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]! < wanted) low = middle + 1;
    else high = middle;
  }
  return sorted[low] === wanted;
}
