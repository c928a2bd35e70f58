import { SipHash } from './sip-hash.ts';

/**
 * A keyed permutation of numbers: what makes consecutive ids into codes that tell nothing about one another.
 *
 * The construction is an alternating Feistel network over two digits of unlike radix, (left, right) with
 * left < leftRadix and right < rightRadix. Each round adds to one digit a keyed hash of the other, modulo
 * the digit's radix. A round is undone by subtracting the same amount, so the whole is a bijection whatever
 * the hash returns; the hash only makes it unguessable. No digit is ever swapped, so radices may differ.
 *
 * Working on two digits instead of one number lets 62^12, which needs 72 bits, do without BigInt.
 */

/** Ten rounds, five for each digit, as NIST's FF1 has for the same job. */
const rounds = 10;
/** A digit travels in 48 bits of the hashed block, beside the round's number. */
const radixMax = 2 ** 48;

const twoTo32 = 2 ** 32;
/** The message is six bytes of digit and one of round; SipHash puts its length into the top byte. */
const messageLength = 7 << 24;

/** Permutes the pairs of two digits. The answer is left in `left` and `right`, so a call allocates nothing. */
export class PairPermutation {
  left = 0;
  right = 0;

  readonly #leftRadix: number;
  readonly #rightRadix: number;
  readonly #hash: SipHash;

  constructor(key: Uint8Array, leftRadix: number, rightRadix: number) {
    for (const radix of [leftRadix, rightRadix]) {
      if (!Number.isInteger(radix) || radix < 1 || radix > radixMax) {
        throw new RangeError(`a radix is an integer from 1 to 2^48, not ${radix}`);
      }
    }
    this.#leftRadix = leftRadix;
    this.#rightRadix = rightRadix;
    this.#hash = new SipHash(key);
  }

  forward(left: number, right: number): void {
    const leftRadix = this.#leftRadix;
    const rightRadix = this.#rightRadix;
    for (let round = 0; round < rounds; round += 2) {
      left += this.#amount(round, right, leftRadix);
      if (left >= leftRadix) left -= leftRadix;
      right += this.#amount(round + 1, left, rightRadix);
      if (right >= rightRadix) right -= rightRadix;
    }
    this.left = left;
    this.right = right;
  }

  backward(left: number, right: number): void {
    const leftRadix = this.#leftRadix;
    const rightRadix = this.#rightRadix;
    for (let round = rounds - 2; round >= 0; round -= 2) {
      right -= this.#amount(round + 1, left, rightRadix);
      if (right < 0) right += rightRadix;
      left -= this.#amount(round, right, leftRadix);
      if (left < 0) left += leftRadix;
    }
    this.left = left;
    this.right = right;
  }

  /**
   * What a round adds: 53 bits of the keyed hash of (round, digit), modulo the radix. The remainder favours
   * small amounts by at most radix / 2^53, which is 2^-29 for codes of 7 characters and 2^-17 for 12. It
   * cannot break the bijection, and to notice it one would have to watch a single round from outside more
   * often than there are codes.
   */
  #amount(round: number, digit: number, radix: number): number {
    const digitHigh = Math.floor(digit / twoTo32);
    this.#hash.hash(digitHigh | (round << 16) | messageLength, digit | 0);
    const bits = (this.#hash.high & 0x1fffff) * twoTo32 + (this.#hash.low >>> 0);
    // This is bits % radix, a quarter faster: below 2^53 a quotient is never rounded up to a whole number.
    return bits - Math.floor(bits / radix) * radix;
  }
}

export interface Permutation {
  readonly size: number;
  forward(id: number): number;
  backward(point: number): number;
}

/**
 * Permutes [0, size) for any size from 1 to 2^53. The nearest pair of digits that covers it may reach a
 * little further, so a result outside is permuted again until it falls inside (cycle walking). The walk
 * follows a cycle of the larger permutation, which leads back to where it began, inside: it always ends.
 * At most sqrt(size) + 1 points lie outside, so a second step is rare.
 */
export function createPermutation(key: Uint8Array, size: number): Permutation {
  if (!Number.isInteger(size) || size < 1 || size > 2 ** 53) {
    throw new RangeError(`a permutation has from 1 to 2^53 points, not ${size}`);
  }
  const leftRadix = Math.floor(Math.sqrt(size));
  const rightRadix = Math.ceil(size / leftRadix);
  const pairs = new PairPermutation(key, leftRadix, rightRadix);
  return {
    size,
    forward(id) {
      let point = id;
      do {
        pairs.forward(Math.floor(point / rightRadix), point % rightRadix);
        point = pairs.left * rightRadix + pairs.right;
      } while (point >= size);
      return point;
    },
    backward(point) {
      let id = point;
      do {
        pairs.backward(Math.floor(id / rightRadix), id % rightRadix);
        id = pairs.left * rightRadix + pairs.right;
      } while (id >= size);
      return id;
    },
  };
}
