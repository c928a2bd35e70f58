import { invariant } from '../../base/errors.ts';
import type { Random } from '../../base/random.ts';
import { base62Alphabet } from '../code-space.ts';
import { type CodeGenerator, firstAllowed } from '../generator.ts';

/**
 * Codes drawn at random. Nothing is shared between processes and nothing can be down, but two draws may collide, so
 * each code is tried with a conditional insert and drawn again when it is taken.
 */
export interface RandomStrategyOptions {
  readonly length: number;
  readonly random: Random;
  readonly isAllowed?: (code: string) => boolean;
}

/** Four times 62: a byte below it gives each character four times, a byte above would favour the first. */
const fairBytes = 248;
/** One byte in 32 is rejected, so this many without a code means that the random source is broken. */
const drawsMax = 64;

export function createRandomGenerator({
  length,
  random,
  isAllowed = () => true,
}: RandomStrategyOptions): CodeGenerator {
  function draw(): string {
    let code = '';
    for (let draws = 0; draws < drawsMax; draws += 1) {
      for (const byte of random.bytes(length * 2)) {
        if (byte < fairBytes) code += base62Alphabet.charAt(byte % 62);
        if (code.length === length) return code;
      }
    }
    invariant(false, 'the random source gives all byte values');
  }

  return {
    mint: async () => ({ code: await firstAllowed(draw, isAllowed), leased: false }),
    available: () => Number.POSITIVE_INFINITY,
    close: () => {},
  };
}
