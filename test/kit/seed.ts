/**
 * Where chance in tests starts, fast-check's too (property-seed.ts). Everyday runs and CI always see the same values, so
 * that a red run is the change's doing; full runs see new ones each time. scripts/run-tests.ts gives all files of a run one
 * seed and prints it; TERSE_TEST_SEED repeats it.
 */
import { scaled } from './scale.ts';

const given = process.env.TERSE_TEST_SEED;

export const testSeed =
  given === undefined ? scaled(20_260_101, Math.floor(Math.random() * 2 ** 31)) : Number(given);

/** Reported with a failure, so that it can be repeated. */
export const seedNote = `repeat with TERSE_TEST_SEED=${testSeed}`;
