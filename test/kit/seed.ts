/**
 * The seed of all randomness in tests, fast-check's too (property-seed.ts). Everyday runs and CI always use the same
 * seed, so that a failure is caused by the change; full runs use a new one each time. scripts/run-tests.ts passes one
 * seed to all files of a run and prints it; TERSE_TEST_SEED repeats it.
 */
import { scaled } from './scale.ts';

const given = process.env.TERSE_TEST_SEED;

export const testSeed =
  given === undefined ? scaled(20_260_101, Math.floor(Math.random() * 2 ** 31)) : Number(given);

/** Reported with a failure, so that it can be repeated. */
export const seedNote = `repeat with TERSE_TEST_SEED=${testSeed}`;
