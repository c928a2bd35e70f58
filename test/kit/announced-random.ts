/** Randomness for heavy tests, from the seed of this run; printed, so that a failing run can be repeated. */
import { type Random, seededRandom } from '../../src/base/random.ts';
import { report } from './report.ts';
import { testSeed } from './seed.ts';

export function announcedRandom(what: string): Random {
  report(`${what}: TERSE_TEST_SEED=${testSeed}`);
  return seededRandom(testSeed);
}
