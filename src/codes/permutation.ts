/**
 * A keyed permutation of numbers: it turns consecutive ids into codes that reveal nothing about one another.
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
   * cannot break the bijection, and noticing it would take more observations of a single round from outside than there
   * are codes.
   */
  #amount(round: number, digit: number, radix: number): number {
    const digitHigh = Math.floor(digit / twoTo32);
    this.#hash.hash(digitHigh | (round << 16) | messageLength, digit | 0);
    const bits = (this.#hash.high & 0x1fffff) * twoTo32 + (this.#hash.low >>> 0);
    // This is bits % radix, a quarter faster: below 2^53 a quotient is never rounded up to a whole number.
    return bits - Math.floor(bits / radix) * radix;
  }
}

/**
 * SipHash-2-4 of one final block: the keyed function inside the permutation of codes. It is written on
 * 32-bit halves because 64-bit integers in JavaScript are heap objects, and a code costs ten hashes.
 *
 * A message of at most seven bytes is exactly one block: its bytes, little-endian, with the length in the
 * top byte. The result is left in `high` and `low` so that a call allocates nothing.
 */
export class SipHash {
  /** The upper 32 bits of the last hash, as a signed integer. */
  high = 0;
  /** The lower 32 bits of the last hash, as a signed integer. */
  low = 0;

  readonly #start: Int32Array;

  constructor(key: Uint8Array) {
    if (key.length !== 16) throw new RangeError('a SipHash key has 16 bytes');
    const words = new DataView(key.buffer, key.byteOffset, key.byteLength);
    const [k0Low, k0High, k1Low, k1High] = [0, 4, 8, 12].map(offset => words.getUint32(offset, true)) as [
      number,
      number,
      number,
      number,
    ];
    // The constants are those of the specification: the ASCII text "somepseudorandomlygeneratedbytes".
    this.#start = Int32Array.of(
      k0High ^ 0x736f6d65,
      k0Low ^ 0x70736575,
      k1High ^ 0x646f7261,
      k1Low ^ 0x6e646f6d,
      k0High ^ 0x6c796765,
      k0Low ^ 0x6e657261,
      k1High ^ 0x74656462,
      k1Low ^ 0x79746573,
    );
  }

  /** Hashes the block whose halves are `blockHigh` and `blockLow`. */
  hash(blockHigh: number, blockLow: number): void {
    const start = this.#start;
    let v0High = start[0]!;
    let v0Low = start[1]!;
    let v1High = start[2]!;
    let v1Low = start[3]!;
    let v2High = start[4]!;
    let v2Low = start[5]!;
    let v3High = start[6]! ^ blockHigh;
    let v3Low = start[7]! ^ blockLow;
    let kept = 0;

    for (let round = 0; round < 6; round += 1) {
      // Two rounds absorb the block, four more finish.
      if (round === 2) {
        v0High ^= blockHigh;
        v0Low ^= blockLow;
        v2Low ^= 0xff;
      }

      // v0 += v1; v1 = rotate(v1, 13) ^ v0; v0 = rotate(v0, 32)
      v0Low = (v0Low + v1Low) | 0;
      v0High = (v0High + v1High + carry(v0Low, v1Low)) | 0;
      kept = v1High;
      v1High = ((v1High << 13) | (v1Low >>> 19)) ^ v0High;
      v1Low = ((v1Low << 13) | (kept >>> 19)) ^ v0Low;
      kept = v0High;
      v0High = v0Low;
      v0Low = kept;

      // v2 += v3; v3 = rotate(v3, 16) ^ v2
      v2Low = (v2Low + v3Low) | 0;
      v2High = (v2High + v3High + carry(v2Low, v3Low)) | 0;
      kept = v3High;
      v3High = ((v3High << 16) | (v3Low >>> 16)) ^ v2High;
      v3Low = ((v3Low << 16) | (kept >>> 16)) ^ v2Low;

      // v0 += v3; v3 = rotate(v3, 21) ^ v0
      v0Low = (v0Low + v3Low) | 0;
      v0High = (v0High + v3High + carry(v0Low, v3Low)) | 0;
      kept = v3High;
      v3High = ((v3High << 21) | (v3Low >>> 11)) ^ v0High;
      v3Low = ((v3Low << 21) | (kept >>> 11)) ^ v0Low;

      // v2 += v1; v1 = rotate(v1, 17) ^ v2; v2 = rotate(v2, 32)
      v2Low = (v2Low + v1Low) | 0;
      v2High = (v2High + v1High + carry(v2Low, v1Low)) | 0;
      kept = v1High;
      v1High = ((v1High << 17) | (v1Low >>> 15)) ^ v2High;
      v1Low = ((v1Low << 17) | (kept >>> 15)) ^ v2Low;
      kept = v2High;
      v2High = v2Low;
      v2Low = kept;
    }

    this.high = v0High ^ v1High ^ v2High ^ v3High;
    this.low = v0Low ^ v1Low ^ v2Low ^ v3Low;
  }
}

/**
 * One when a 32-bit sum wrapped around, which shows in it being smaller than either of its terms. Written
 * without a branch, which the processor could not predict: that halves the cost of a hash.
 */
function carry(sum: number, term: number): number {
  return Number(sum >>> 0 < term >>> 0);
}
