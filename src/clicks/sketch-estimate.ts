/**
 * From registers to a number of visitors: the improved estimator of Ertl (“New cardinality estimation
 * algorithms for HyperLogLog sketches”, 2017). It corrects for registers that are still empty and for those
 * at the highest rank within the one formula, so it needs no table of biases and no switch between methods,
 * whose seams would show as jumps in a chart.
 */
import { rankMax, registerCount } from './sketch-token.ts';

/** What the harmonic mean is off by when registers are many: 1 / (2 ln 2). */
const correction = 0.5 / Math.LN2;
/** Both series below gain digits with every term, and a double has no room for more terms than this. */
const termsMax = 64;

/** Takes how many registers hold each rank, from 0 to the highest. */
export function estimateVisitors(histogram: ArrayLike<number>): number {
  let sum = registerCount * shareAtTop(1 - histogram[rankMax]! / registerCount);
  for (let rank = rankMax - 1; rank >= 1; rank -= 1) sum = (sum + histogram[rank]!) / 2;
  sum += registerCount * shareAtBottom(histogram[0]! / registerCount);
  return (correction * registerCount * registerCount) / sum;
}

/** Ertl's σ: x + Σ x^(2^k) 2^(k-1), for the share of registers that are empty; infinite when all are. */
function shareAtBottom(empty: number): number {
  if (empty === 1) return Number.POSITIVE_INFINITY;
  let [power, weight, sum] = [empty, 1, empty];
  for (let term = 0; term < termsMax; term += 1) {
    power *= power;
    const next = sum + power * weight;
    if (next === sum) break;
    sum = next;
    weight *= 2;
  }
  return sum;
}

/**
 * Ertl's τ: (1 - x - Σ (1 - x^(2^-k))² 2^-k) / 3, for the share of registers that are not at the highest
 * rank.
 */
function shareAtTop(below: number): number {
  if (below === 0) return 0;
  let [root, weight, sum] = [below, 1, 1 - below];
  for (let term = 0; term < termsMax; term += 1) {
    root = Math.sqrt(root);
    weight /= 2;
    const next = sum - (1 - root) ** 2 * weight;
    if (next === sum) break;
    sum = next;
  }
  return sum / 3;
}
