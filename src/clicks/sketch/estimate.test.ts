import { describe, expect, test } from 'bun:test';
import { eachHash, sketchOfMany } from '../fake-visitor-hashes.ts';
import { Sketch } from './sketch.ts';
import { estimateVisitors } from './token.ts';

const standardError = 1.04 / Math.sqrt(16_384);

function relativeError(count: number, seed: number): number {
  return sketchOfMany(count, seed).estimate() / count - 1;
}

describe('the estimate', () => {
  test.each([0, 1, 2, 3, 10, 100, 512])('of %d visitors is exact', count => {
    for (let seed = 1; seed <= 20; seed += 1) expect(sketchOfMany(count, seed).estimate()).toBe(count);
  });

  test('of a million visitors is within 2% of the truth', () => {
    for (let seed = 1; seed <= 5; seed += 1) {
      expect(Math.abs(relativeError(1_000_000, seed))).toBeLessThan(0.02);
    }
  });

  // Beyond this is one sketch in 2,000; 2% is two and a half standard errors, and beyond that is one in 80.
  test.each([
    [1_000, 20],
    [10_000, 20],
    [100_000, 20],
    [10_000_000, 3],
  ])('of %d visitors is within three and a half standard errors', (count, seeds) => {
    for (let seed = 1; seed <= seeds; seed += 1) {
      expect(Math.abs(relativeError(count, seed))).toBeLessThan(3.5 * standardError);
    }
  });

  test('is nowhere biased, and its error is that of HyperLogLog', () => {
    // Around the change to registers, and where estimators with several methods change from one to the next.
    const counts = [
      600, 800, 1_000, 1_024, 1_025, 1_100, 2_000, 5_000, 15_000, 30_000, 41_000, 50_000, 80_000,
    ];
    const seeds = 100;
    const errors = new Map(counts.map(count => [count, [] as number[]]));
    for (let seed = 1; seed <= seeds; seed += 1) {
      const sketch = new Sketch();
      let added = 0;
      eachHash(counts.at(-1)!, seed, (high, low) => {
        sketch.add(high, low);
        added += 1;
        errors.get(added)?.push(sketch.estimate() / added - 1);
      });
    }
    for (const list of errors.values()) {
      expect(list.length).toBe(seeds);
      const mean = list.reduce((sum, error) => sum + error, 0) / seeds;
      const meanSquare = list.reduce((sum, error) => sum + error ** 2, 0) / seeds;
      // The mean of a hundred has a tenth of the error of one.
      expect(Math.abs(mean)).toBeLessThan((3.5 * standardError) / Math.sqrt(seeds));
      expect(Math.sqrt(meanSquare)).toBeLessThan(1.25 * standardError);
    }
  });

  test('does not jump, one visitor after the other, where a sketch becomes dense', () => {
    for (let seed = 1; seed <= 5; seed += 1) {
      const sketch = new Sketch();
      let added = 0;
      let previous = 0;
      eachHash(1_500, seed, (high, low) => {
        sketch.add(high, low);
        added += 1;
        const estimate = sketch.estimate();
        const step = estimate - previous;
        previous = estimate;
        // Rounding may subtract or add one; a visitor whose register is taken may add none.
        expect({ added, step: Math.max(-1, Math.min(3, step)) }).toEqual({ added, step });
      });
    }
  });

  test('is the truth for registers that hold exactly what is expected of them', () => {
    // From a tenth of a visitor to so many that most registers are at the highest rank.
    for (let visitors = 0.1; visitors < 2 ** 66; visitors *= 1.7) {
      const estimate = estimateVisitors(expectedHistogram(visitors));
      expect(Math.abs(estimate / visitors - 1)).toBeLessThan(0.0001);
    }
  });

  test('is zero for empty registers and infinite for full ones', () => {
    const histogram = new Int32Array(52);
    histogram[0] = 16_384;
    expect(estimateVisitors(histogram)).toBe(0);
    histogram[0] = 0;
    histogram[51] = 16_384;
    expect(estimateVisitors(histogram)).toBe(Number.POSITIVE_INFINITY);
  });

  test('grows with every register that grows', () => {
    const histogram = new Int32Array(52);
    histogram[0] = 16_384;
    let previous = 0;
    for (let rank = 1; rank <= 51; rank += 1) {
      for (const moved of [1, 99, 8_000, 8_284]) {
        histogram[rank - 1]! -= moved;
        histogram[rank]! += moved;
        const estimate = estimateVisitors(histogram);
        expect(estimate).toBeGreaterThan(previous);
        previous = estimate;
      }
    }
  });
});

/**
 * How many registers hold each rank on average. With a Poisson number of visitors to a register, it stays at
 * or below a rank when none of them exceeds it, which is one in 2^rank of them.
 */
function expectedHistogram(visitors: number): Float64Array {
  const perRegister = visitors / 16_384;
  const exceedShare = (rank: number) =>
    rank < 0 ? 1 : rank > 50 ? 0 : -Math.expm1(-perRegister / 2 ** rank);
  return Float64Array.from({ length: 52 }, (_, rank) => 16_384 * (exceedShare(rank - 1) - exceedShare(rank)));
}
