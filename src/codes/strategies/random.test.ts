import { describe, expect, test } from 'bun:test';
import { seededRandom } from '../../base/random.ts';
import { base62Alphabet } from '../code-space.ts';
import { describeGenerator } from '../generator.conformance.ts';
import { createRandomGenerator } from './range.ts';

describeGenerator('random', {
  length: 7,
  leased: { no: 'a random code may exist already' },
  distinctAcrossProcesses: { no: 'draws are independent; the conditional insert tells them apart' },
  createInstallation: () => ({
    start: (isAllowed = () => true) =>
      createRandomGenerator({ length: 7, random: seededRandom(7), isAllowed }),
  }),
});

describe('random', () => {
  const request = { longUrl: 'https://example.com/', ownerId: null, attempt: 0 };

  test('gives each character equally often, although 256 is no multiple of 62', async () => {
    const generator = createRandomGenerator({ length: 10, random: seededRandom(3) });
    const counts = new Map<string, number>();
    for (let index = 0; index < 62_000; index += 1) {
      for (const character of (await generator.mint(request)).code) {
        counts.set(character, (counts.get(character) ?? 0) + 1);
      }
    }
    // 10,000 each, give or take 100; without rejection the first eight would come 11% more often.
    expect([...counts.keys()].sort()).toEqual([...base62Alphabet]);
    expect(Math.min(...counts.values())).toBeGreaterThan(9_500);
    expect(Math.max(...counts.values())).toBeLessThan(10_500);
  });

  test('fails instead of hanging when the random source is stuck', async () => {
    const stuck = { bytes: (length: number) => new Uint8Array(length).fill(255), float: () => 0 };
    const generator = createRandomGenerator({ length: 7, random: stuck });
    await expect(generator.mint(request)).rejects.toThrow('random source');
  });
});
