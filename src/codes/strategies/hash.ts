import { createHmac } from 'node:crypto';
import { invariant } from '../../base/errors.ts';
import type { Random } from '../../base/random.ts';
import { base62Alphabet } from '../code-space.ts';
import { deriveKey } from '../derived-key.ts';
import { type CodeGenerator, firstAllowed, type MintRequest, sameCodeAttempts } from '../generator.ts';

/**
 * Codes computed from the URL: the same URL gives the same code in every process, with nothing shared but the
 * installation's secret. Without that secret the code of a known URL cannot be computed.
 *
 * A code that is taken by another link is computed again with the attempt and the owner mixed in, so two owners of one
 * URL get different codes; after a few such codes randomness is mixed in, so a free one is always found. The Bloom
 * filter remembers codes this process saw in use: a code that it denies may be inserted without first reading whether
 * the link exists. Other processes issue codes too, so only the conditional insert decides; the filter only saves a
 * read.
 */
export interface HashStrategyOptions {
  readonly length: number;
  readonly secret: Uint8Array;
  readonly random: Random;
  /** Codes the filter holds at its rate; 1,000,000 unless given, which is 1.2 MB. */
  readonly seenMax?: number;
  readonly falsePositiveRate?: number;
  readonly isAllowed?: (code: string) => boolean;
}

export function createHashGenerator({
  length,
  secret,
  random,
  seenMax = 1_000_000,
  falsePositiveRate = 0.01,
  isAllowed = () => true,
}: HashStrategyOptions): CodeGenerator {
  const key = deriveKey(secret, 'hash of URLs');
  const seen = new BloomFilter({ capacity: seenMax, falsePositiveRate });

  /** The parts are joined by a character that a normalised URL cannot hold, so no two lists look alike. */
  function hash({ longUrl, ownerId, attempt }: MintRequest, refusals: number): string {
    const owner = attempt === 0 ? '' : (ownerId ?? '');
    const chance = attempt < sameCodeAttempts ? '' : `\n${Buffer.from(random.bytes(16)).toString('hex')}`;
    const salt = owner + chance;
    const digest = createHmac('sha256', key).update(`${attempt}\n${refusals}\n${longUrl}\n${salt}`).digest();
    return remainderBase62(digest, length);
  }

  return {
    issued: seen,
    async mint(request) {
      const code = await firstAllowed(refusals => hash(request, refusals), isAllowed);
      return { code, leased: false };
    },
    available: () => Number.POSITIVE_INFINITY,
    close: () => {},
  };
}

/**
 * The first 128 bits of the digest modulo 62^length, in Base62. Cutting the digest to the bits that seem to
 * fit would be wrong: 2^43 is already more than 62^7, so some 43-bit hashes have no code of 7 characters.
 * The remainder always has one, and with 128 bits to start from it favours no code by more than 62^12 / 2^128,
 * which is 2^-56.
 *
 * The digits come by long division on 32-bit words, lowest digit first: the 128-bit number is divided by 62
 * and the remainder is the digit, once for each character.
 */
export function remainderBase62(digest: Uint8Array, length: number): string {
  const view = new DataView(digest.buffer, digest.byteOffset, digest.byteLength);
  const words = [0, 4, 8, 12].map(offset => view.getUint32(offset));
  let code = '';
  for (let position = 0; position < length; position += 1) {
    let remainder = 0;
    for (const [index, word] of words.entries()) {
      const dividend = remainder * 2 ** 32 + word;
      words[index] = Math.floor(dividend / 62);
      remainder = dividend % 62;
    }
    code = base62Alphabet.charAt(remainder) + code;
  }
  return code;
}

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
