import { invariant, Problem } from '../../base/errors.ts';
import type { Random } from '../../base/random.ts';
import { base62Alphabet } from '../code-space.ts';
import { type CodeGenerator, firstAllowed } from '../generator.ts';
import type { IdShare } from '../id-share.ts';
import { KeyPool, KeyPoolError, type KeyPoolOptions } from '../key-pool.ts';

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

/**
 * The default: ids leased in ranges, permuted into codes. No two processes ever hold the same id, so a code is free by
 * construction and the insert needs no retry. While the allocator is down, codes are drawn at random instead and are
 * not marked as leased, because they may be taken. They too come from the region's own share: in another region's
 * share, a store that cannot know of them would lease the same id.
 */
type RangeStrategyOptions = KeyPoolOptions;

export function createRangeGenerator(options: RangeStrategyOptions): CodeGenerator {
  const pool = new KeyPool(options);
  const { space, share, random, isAllowed = () => true } = options;
  const fallback = createRandomGenerator({
    length: space.length,
    random,
    isAllowed: code => isAllowed(code) && !isOfAnother(share, space.decode(code)),
  });

  return {
    async mint(request) {
      try {
        return { code: await pool.take(), leased: true };
      } catch (error) {
        if (!(error instanceof KeyPoolError)) throw error;
        switch (error.reason) {
          case 'allocator-unavailable':
            return fallback.mint(request);
          case 'space-exhausted':
            // Random codes would not help: all of the space is leased, so all of it counts as taken.
            throw new Problem('codes_exhausted', {
              detail: 'All codes of this length are used up.',
              cause: error,
            });
          case 'closed':
            throw new Problem('overloaded', { detail: 'The server is shutting down.', cause: error });
        }
      }
    },
    mintNow: () => pool.takeNow(),
    available: () => pool.available(),
    close: () => pool.close(),
  };
}

/** An id beyond `size` is in no share, because it is never leased. */
function isOfAnother(share: IdShare | undefined, id: number | undefined): boolean {
  return share !== undefined && id !== undefined && (id < share.first || id >= share.limit);
}
