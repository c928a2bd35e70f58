/**
 * What a sketch keeps of one visitor's 64-bit hash. HyperLogLog with precision 14 looks at two things: the first
 * 14 bits choose a register, and the rank, which is how many bits on from there the first one-bit stands, is what
 * that register has to reach.
 *
 * A token is enough of the hash to know both, and enough more to tell visitors apart while they are few: the
 * first 26 bits. They settle the rank unless the 12 bits behind the register's 14 are all zero; then, once in
 * 4,096 hashes, the token also notes where in the remaining 38 bits the first one-bit stands. The invariant is
 * that every form of a sketch is made from tokens and nothing else, so the forms cannot disagree.
 *
 *     bits   14 register | 12 prefix | 6 depth (0 when the prefix settles the rank)
 */

/** 16,384 registers give a standard error of 1.04 / √16384 = 0.81%. */
export const registerCount = 1 << 14;
/** The rank of a hash whose last 50 bits are all zero. */
export const rankMax = 51;

export const depthBits = 6;
export const depthMax = 39;
const prefixBits = 12;
const prefixMask = (1 << prefixBits) - 1;
const depthMask = (1 << depthBits) - 1;
/** Where the register starts: the 18 bits below it are prefix and depth. */
const registerShift = prefixBits + depthBits;

/** The token of the hash with these halves, which may be signed or unsigned; an unsigned integer. */
export function tokenOf(high: number, low: number): number {
  const position = (high & ~depthMask) >>> 0;
  return needsDepth(position) ? position + depthOf(high & depthMask, low) : position;
}

/** Whether the prefix is all zero, so that the token has a depth. */
export function needsDepth(token: number): boolean {
  return ((token >>> depthBits) & prefixMask) === 0;
}

/** The depth that a token notes, from 1 to 39, or 0. */
export function depthIn(token: number): number {
  return token & depthMask;
}

export function registerOf(token: number): number {
  return token >>> registerShift;
}

export function rankOf(token: number): number {
  const prefix = (token >>> depthBits) & prefixMask;
  return prefix === 0 ? prefixBits + (token & depthMask) : Math.clz32(prefix) - (32 - prefixBits) + 1;
}

/** Where the first one-bit stands in the last 38 bits of the hash, counted from 1; 39 when there is none. */
function depthOf(lastOfHigh: number, low: number): number {
  return lastOfHigh === 0 ? depthBits + Math.clz32(low) + 1 : Math.clz32(lastOfHigh) - (32 - depthBits) + 1;
}
