/** Visitors for tests: 64-bit hashes that are the same in every run, and sketches of them. */
import { seededRandom } from '../base/random.ts';
import { Sketch } from './sketch/sketch.ts';

export interface VisitorHash {
  readonly high: number;
  readonly low: number;
}

/** Calls `take` with the halves of `count` hashes; unlike a list this takes no memory. */
export function eachHash(count: number, seed: number, take: (high: number, low: number) => void): void {
  const random = seededRandom(seed);
  for (let index = 0; index < count; index += 1) {
    take(random.float() * 0x1_0000_0000, random.float() * 0x1_0000_0000);
  }
}

export function hashes(count: number, seed: number): VisitorHash[] {
  const list: VisitorHash[] = [];
  eachHash(count, seed, (high, low) => list.push({ high, low }));
  return list;
}

/**
 * Rare hashes: each has a run of zeros after its register, of any length up to the end, so that every rank and every
 * depth occurs.
 */
export function deepHashes(count: number, seed: number): VisitorHash[] {
  return hashes(count, seed).map(({ high, low }, index) => {
    const zeros = index % 51;
    const highMask = zeros >= 18 ? 0 : 0x3ffff >>> zeros;
    const lowMask = zeros <= 18 ? 0xffffffff : zeros >= 50 ? 0 : 0xffffffff >>> (zeros - 18);
    return { high: ((high & 0xfffc0000) | (high & highMask)) >>> 0, low: (low & lowMask) >>> 0 };
  });
}

export function sketchOf(visitors: readonly VisitorHash[]): Sketch {
  const sketch = new Sketch();
  for (const { high, low } of visitors) sketch.add(high, low);
  return sketch;
}

export function sketchOfMany(count: number, seed: number): Sketch {
  const sketch = new Sketch();
  eachHash(count, seed, (high, low) => sketch.add(high, low));
  return sketch;
}
