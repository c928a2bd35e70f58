/**
 * Zipf-distributed traffic: the key of rank k is requested in proportion to 1 / k^exponent. Drawn from the exact
 * distribution by its cumulative sums, so that hit ratios do not depend on an approximation.
 */
import type { Random } from '../../src/base/random.ts';

/** `length` ranks in [0, keys), most popular first. */
export function zipfTrace(keys: number, exponent: number, length: number, random: Random): Uint32Array {
  const cumulative = new Float64Array(keys);
  let sum = 0;
  for (let rank = 0; rank < keys; rank += 1) {
    sum += (rank + 1) ** -exponent;
    cumulative[rank] = sum;
  }
  const trace = new Uint32Array(length);
  for (let turn = 0; turn < length; turn += 1) trace[turn] = firstAbove(cumulative, random.float() * sum);
  return trace;
}

function firstAbove(cumulative: Float64Array, drawn: number): number {
  let low = 0;
  let high = cumulative.length - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (cumulative[middle]! > drawn) high = middle;
    else low = middle + 1;
  }
  return low;
}
