import { Problem } from '../../base/errors.ts';
import type { CodeGenerator } from '../generator.ts';
import type { IdShare } from '../id-share.ts';
import { KeyPool, KeyPoolError, type KeyPoolOptions } from '../key-pool.ts';
import { createRandomGenerator } from './random.ts';

/**
 * The default: ids leased in ranges, permuted into codes. No two processes ever hold the same id, so a code is free by
 * construction and the insert needs no retry. While the allocator is down, codes are drawn at random instead and are
 * not marked as leased, because they may be taken. They too come from the region's own share: in another region's
 * share, a store that cannot know of them would lease the same id.
 */
export type RangeStrategyOptions = KeyPoolOptions;

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
