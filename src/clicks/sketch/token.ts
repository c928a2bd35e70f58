/**
 * The part of a visitor's 64-bit hash that a sketch keeps. HyperLogLog with precision 14 uses two things: the first 14
 * bits choose a register, and the rank, the position of the first one-bit after them, is the least value that this
 * register then has.
 *
 * A token has enough of the hash for both, and to distinguish visitors while they are few: the first 25 bits. They
 * determine the rank unless the 11 bits after the register's 14 are all zero; then, once in 2,048 hashes, the token
 * also has the position of the first one-bit in the remaining 39 bits. Invariant: every form of a sketch is made from
 * tokens alone, so the forms cannot disagree.
 *
 *     31 bits   14 register | 11 prefix | 6 depth (0 when the prefix settles the rank)
 *
 * With one bit more a token would be a floating-point number to the engine, and several times slower.
 */

const registerBits = 14;
/** 16,384 registers give a standard error of 1.04 / √16384 = 0.81%. */
export const registerCount = 1 << registerBits;
/** The rank of a hash whose last 50 bits are all zero. */
export const rankMax = 64 - registerBits + 1;

/** Register and prefix together are the position of a token; it is what tokens are ordered by. */
export const positionBits = 25;
export const depthBits = 6;
export const depthMax = 64 - positionBits + 1;

const prefixBits = positionBits - registerBits;
const prefixMask = (1 << prefixBits) - 1;
const depthMask = (1 << depthBits) - 1;
/** How many bits of the upper half of a hash are behind the position. */
const tailBits = 32 - positionBits;
const tailMask = (1 << tailBits) - 1;

/** The token of the hash with these halves, which may be signed or unsigned. */
export function tokenOf(high: number, low: number): number {
  const position = high >>> tailBits;
  return tokenAt(position, needsDepth(position) ? depthOf(high & tailMask, low) : 0);
}

export function tokenAt(position: number, depth: number): number {
  return (position << depthBits) | depth;
}

/** Whether the prefix is all zero, so that a token at this position has a depth. */
export function needsDepth(position: number): boolean {
  return (position & prefixMask) === 0;
}

export function positionIn(token: number): number {
  return token >>> depthBits;
}

/** From 1 up, or 0 where none is needed. */
export function depthIn(token: number): number {
  return token & depthMask;
}

export function registerOf(token: number): number {
  return token >>> (prefixBits + depthBits);
}

export function rankOf(token: number): number {
  const prefix = positionIn(token) & prefixMask;
  return prefix === 0 ? prefixBits + depthIn(token) : firstOneIn(prefix, prefixBits);
}

/** Where the first one-bit stands in the last 39 bits of the hash; 40 when there is none. */
function depthOf(tailOfHigh: number, low: number): number {
  return tailOfHigh === 0 ? tailBits + firstOneIn(low, 32) : firstOneIn(tailOfHigh, tailBits);
}

/**
 * Where the first one-bit stands in a number of that many bits, counted from 1; behind them when there is
 * none.
 */
function firstOneIn(value: number, width: number): number {
  return Math.clz32(value) - (32 - width) + 1;
}

/**
 * From registers to a number of visitors: the improved estimator of Ertl (“New cardinality estimation
 * algorithms for HyperLogLog sketches”, 2017). It corrects for registers that are still empty and for those
 * at the highest rank within the one formula, so it needs no table of biases and no switch between methods,
 * whose seams would show as jumps in a chart.
 */
/** The bias of the harmonic mean for many registers: 1 / (2 ln 2). */
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

/**
 * Thrown for bytes that no sketch has written: they were cut off, altered, or are something else.
 */
export class BrokenSketch extends Error {
  override readonly name = 'BrokenSketch';

  constructor(reason: string) {
    super(`these bytes are not a visitor sketch: ${reason}`);
  }
}
