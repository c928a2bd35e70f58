/**
 * Knows which generated codes cannot exist yet, so that a guess costs no I/O. A code decodes to an id; ids outside the
 * spans that regions have leased were never issued, except for the few that aliases have claimed, which are kept in a
 * set. A few numbers and a short list replace a Bloom filter over every link.
 */
import type { LeasedSpan } from '../links/store.ts';

export class Horizon {
  readonly #idOf: (code: string) => number | undefined;
  /** One per region. */
  #spans: readonly LeasedSpan[] = [];
  #claimed: Float64Array = new Float64Array(0);
  #claimedSince = new Set<number>();
  /** A miss is judged several times, so the last decoded code is remembered with its id. */
  #decodedCode = '';
  #decodedId: number | undefined;

  /** `idOf` returns undefined for a code that does not have the shape of a generated one. */
  constructor(idOf: (code: string) => number | undefined) {
    this.#idOf = idOf;
  }

  get spans(): readonly LeasedSpan[] {
    return this.#spans;
  }

  get claims(): number {
    return this.#claimed.length + this.#claimedSince.size;
  }

  reset(spans: readonly LeasedSpan[], claimedIds: readonly number[]): void {
    this.raise(spans);
    this.#claimed = Float64Array.from(claimedIds).sort();
    this.#claimedSince.clear();
  }

  /** Each `mark` only grows, so updates may arrive in any order. */
  raise(spans: readonly LeasedSpan[]): void {
    for (const { first, mark } of spans) {
      const known = this.#spans.find(span => span.first === first);
      if (known !== undefined && known.mark >= mark) continue;
      this.#spans = [...this.#spans.filter(span => span !== known), { first, mark }];
    }
  }

  claim(id: number): void {
    this.#claimedSince.add(id);
  }

  judge(code: string): 'never issued' | 'leased' | 'unknown' {
    if (code !== this.#decodedCode) {
      this.#decodedId = this.#idOf(code);
      this.#decodedCode = code;
    }
    const id = this.#decodedId;
    if (id === undefined) return 'unknown';
    for (const { first, mark } of this.#spans) if (id >= first && id < mark) return 'leased';
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
