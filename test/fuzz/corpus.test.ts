/**
 * Runs every input of the corpus, and a fixed number of mutated ones, so that a seed repeats the run. An input that
 * fails is added to the corpus. `npm run fuzz` runs for a given time.
 */
import { describe, expect, test } from 'bun:test';
import { announcedRandom } from '../kit/announced-random.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { seedNote } from '../kit/seed.ts';
import { corpusOf, keep } from './corpus-files.ts';
import { FuzzFailure, inputMaxBytes, MutationFuzzer } from './mutation-fuzzer.ts';
import { fuzzTargets } from './targets.ts';

const runs = scaled(1_500, 200_000);

describe('hostile bytes', () => {
  test.each(Object.keys(fuzzTargets))(
    'given to %s do what is promised: the corpus and what is made of it',
    async name => {
      const corpus = corpusOf(name);
      expect(corpus.length).toBeGreaterThan(0);
      for (const { name: entry, bytes } of corpus)
        expect({ entry, isSmall: bytes.length <= inputMaxBytes }).toEqual({ entry, isSmall: true });
      const fuzzer = new MutationFuzzer(name, announcedRandom(`fuzzing ${name}`));
      try {
        await fuzzer.begin();
        for (let run = 0; run < runs; run += 1) await fuzzer.step();
      } catch (error) {
        if (!(error instanceof FuzzFailure)) throw error;
        const path = keep(name, 'bug', error.bytes);
        throw new Error(`${error.message}; kept as ${path}; ${seedNote}`, { cause: error });
      }
    },
    heavyTestMaxMs,
  );
});
