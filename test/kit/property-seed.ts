/** Loaded before every test file: properties of fast-check draw from the seed of the run, too. */
import { configureGlobal, readConfigureGlobal } from 'fast-check';
import { testSeed } from './seed.ts';

configureGlobal({ ...readConfigureGlobal(), seed: testSeed });
