import { createHmac } from 'node:crypto';
import type { Random } from '../../base/random.ts';
import { firstAllowed } from '../allowed-code.ts';
import { base62Alphabet } from '../base62.ts';
import { BloomFilter } from '../bloom-filter.ts';
import { deriveKey } from '../derived-key.ts';
import { type CodeGenerator, type MintRequest, sameCodeAttempts } from '../generator.ts';

/**
 * Codes computed from the URL: the same URL gives the same code in every process, with nothing shared but
 * the installation's secret, and without that secret nobody can compute the code of a URL they know.
 *
 * A code that is taken by something else is computed again with the attempt and the owner mixed in, so two
 * owners of one URL part ways; after a few such codes chance is mixed in, so one that is free is always found.
 * The Bloom filter remembers codes this process saw in use: what it denies may
 * be inserted without first reading whether the link exists. Other processes issue codes too, so only the
 * conditional insert decides; the filter saves a read and is never believed.
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
