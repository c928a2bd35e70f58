/** Picks how codes are made, and knows every space a code may belong to. */
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import { createCodeSpace, type PairCodeSpace } from './code-space.ts';
import type { CodeGenerator, RangeSource } from './generator.ts';
import { type Region, shareOf } from './id-share.ts';
import { createHashGenerator } from './strategies/hash.ts';
import { createRandomGenerator, createRangeGenerator } from './strategies/range.ts';
import { createSnowflakeGenerator } from './strategies/snowflake.ts';

export const codeStrategies = ['range', 'random', 'hash', 'snowflake'] as const;
export type CodeStrategy = (typeof codeStrategies)[number];

export interface GeneratorOptions {
  readonly secret: Uint8Array;
  readonly strategy: CodeStrategy;
  readonly length: number;
  readonly rangeSize: number;
  readonly machineId: number;
  /** Which of how many; the only one unless given. */
  readonly region?: Region | undefined;
  readonly source: RangeSource;
  readonly isAllowed: (code: string) => boolean;
  readonly clock: Clock;
  readonly random: Random;
}

export interface Codes {
  readonly generator: CodeGenerator;
  /** The space that codes are generated in now. */
  readonly space: PairCodeSpace;
  /** For a code of any length an operator may ever choose, so that changing the setting stays safe. */
  readonly claimOf: (code: string) => { readonly length: number; readonly id: number } | undefined;
}

const onlyRegion: Region = { number: 1, count: 1 };

export const claimLengths = [6, 7, 8, 9, 10, 11, 12] as const;

export function createCodes(options: GeneratorOptions): Codes {
  const { secret, length } = options;
  const spaces = new Map<number, PairCodeSpace>();
  for (const each of new Set([...claimLengths, length])) spaces.set(each, createCodeSpace(secret, each));
  const space = spaces.get(length)!;
  return {
    generator: generatorOf(options, space),
    space,
    claimOf(code) {
      const id = spaces.get(code.length)?.decode(code);
      return id === undefined ? undefined : { length: code.length, id };
    },
  };
}

function generatorOf(options: GeneratorOptions, space: PairCodeSpace): CodeGenerator {
  switch (options.strategy) {
    case 'range':
      return createRangeGenerator({
        ...options,
        space,
        share: shareOf(options.region ?? onlyRegion, space.size),
      });
    case 'random':
      return createRandomGenerator(options);
    case 'hash':
      return createHashGenerator(options);
    case 'snowflake':
      return createSnowflakeGenerator({ ...options, space, machine: options.machineId });
  }
}
