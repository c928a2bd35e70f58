import { invariant } from '../base/errors.ts';

/**
 * A set of strings that answers "surely not" or "maybe", in about ten bits per string. Past its capacity the
 * maybes grow more frequent, but a string that was added is never denied.
 */
export interface BloomFilterOptions {
  /** Strings it holds at the promised rate, up to 100 million (120 MB at 1%). */
  readonly capacity: number;
  /** The share of strings never added that it nevertheless answers "maybe" for, once full. */
  readonly falsePositiveRate: number;
}

const capacityMax = 100_000_000;

export class BloomFilter {
  readonly bitCount: number;
  readonly #hashCount: number;
  readonly #bytes: Uint8Array;

  constructor({ capacity, falsePositiveRate }: BloomFilterOptions) {
    invariant(Number.isInteger(capacity) && capacity >= 1 && capacity <= capacityMax, 'capacity is bounded');
    invariant(falsePositiveRate >= 1e-6 && falsePositiveRate < 1, 'the rate is from a millionth to one');
    // The textbook optimum: m = -n ln p / (ln 2)^2 bits and k = (m / n) ln 2 hashes.
    this.bitCount = Math.ceil((-capacity * Math.log(falsePositiveRate)) / Math.LN2 ** 2);
    this.#hashCount = Math.max(1, Math.round((this.bitCount / capacity) * Math.LN2));
    this.#bytes = new Uint8Array(Math.ceil(this.bitCount / 8));
  }

  add(text: string): void {
    const { first, step } = hashesOf(text);
    for (let index = 0; index < this.#hashCount; index += 1) {
      const bit = (first + index * step) % this.bitCount;
      this.#bytes[bit >>> 3]! |= 1 << (bit & 7);
    }
  }

  mayHave(text: string): boolean {
    const { first, step } = hashesOf(text);
    for (let index = 0; index < this.#hashCount; index += 1) {
      const bit = (first + index * step) % this.bitCount;
      if ((this.#bytes[bit >>> 3]! & (1 << (bit & 7))) === 0) return false;
    }
    return true;
  }
}

/** Two hashes stand in for any number of them (Kirsch and Mitzenmacher); an odd step is never zero. */
function hashesOf(text: string): { first: number; step: number } {
  return {
    first: Bun.hash.murmur32v3(text, 0x9e3779b9),
    step: (Bun.hash.murmur32v3(text, 0x85ebca6b) | 1) >>> 0,
  };
}
