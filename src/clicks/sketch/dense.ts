/**
 * The dense form of a sketch: HyperLogLog's registers, a byte each in memory. A register holds the highest
 * rank of the hashes that fell on it, so registers depend only on the set of hashes, and the union of two
 * sketches is the maximum of each pair. Invariant: no register exceeds the highest rank there is, which leaves
 * each byte's top bit free; merging relies on it.
 */
import { BrokenSketch, rankMax, rankOf, registerCount, registerOf } from './token.ts';

/** The top bit of each of the four bytes in a word. */
const topBits = 0x80808080 | 0;

export class Registers {
  readonly #ranks: Uint8Array;

  private constructor(ranks: Uint8Array) {
    this.#ranks = ranks;
  }

  static of(tokens: Int32Array): Registers {
    const registers = new Registers(new Uint8Array(registerCount));
    for (let index = 0; index < tokens.length; index += 1) registers.add(tokens[index]!);
    return registers;
  }

  static from(bytes: Uint8Array): Registers {
    return new Registers(unpackRegisters(bytes));
  }

  copy(): Registers {
    return new Registers(this.#ranks.slice());
  }

  add(token: number): void {
    const register = registerOf(token);
    const rank = rankOf(token);
    if (rank > this.#ranks[register]!) this.#ranks[register] = rank;
  }

  /** Four registers at a time and without a branch, which the processor could not predict. */
  merge(other: Registers): void {
    const ours = new Int32Array(this.#ranks.buffer);
    const theirs = new Int32Array(other.#ranks.buffer);
    for (let index = 0; index < ours.length; index += 1) {
      const our = ours[index]!;
      const their = theirs[index]!;
      // With its top bit set, subtracting their byte from ours borrows nothing from the next byte; the bit stays if
      // ours is not smaller.
      const notSmaller = ((our | topBits) - their) & topBits;
      // Spreads each of those bits over the rest of its byte: 0x80 becomes 0x7f.
      const keep = notSmaller - (notSmaller >>> 7);
      ours[index] = (our & keep) | (their & ~keep);
    }
  }

  /** The rank that every register has reached. */
  lowest(): number {
    let lowest = rankMax;
    for (let register = 0; register < registerCount; register += 1)
      lowest = Math.min(lowest, this.#ranks[register]!);
    return lowest;
  }

  /** How many registers hold each rank, from 0 to the highest. */
  histogram(): Int32Array {
    const counts = new Int32Array(rankMax + 1);
    const ranks = this.#ranks;
    for (let register = 0; register < registerCount; register += 1) counts[ranks[register]!]! += 1;
    return counts;
  }

  toBytes(): Uint8Array {
    return packRegisters(this.#ranks, this.histogram());
  }
}

/**
 * The encoding of registers. Six bits would hold any rank, but the ranks of one sketch are close together: four
 * bits above the lowest are enough for all but a few in ten thousand. Those outliers follow in full, in the order of
 * their registers. While more than a quarter of the registers is still empty, a map with a bit for each register says
 * which of them are written at all.
 *
 *     1 byte layout | 1 byte floor | 2,048 bytes map, if any | 4 bits per register | 1 byte per outlier
 *
 * That is 2.5 to 8.2 KB, and is read within microseconds, which a denser code would not be: a year of days is merged
 * while a client waits.
 */
const layouts = { whole: 0, mapped: 1 } as const;
const headBytes = 2;
const mapBytes = registerCount / 8;
/** With more empty registers than this, leaving them out saves more than the map takes. */
const emptyWrittenMax = mapBytes * 2;
/** The four bits that stand for an outlier. */
const outlierMark = 15;

export function packRegisters(registers: Uint8Array, histogram: Int32Array): Uint8Array {
  const emptyCount = histogram[0]!;
  const isMapped = emptyCount > emptyWrittenMax;
  const count = isMapped ? registerCount - emptyCount : registerCount;
  const floor = histogram.findIndex((held, rank) => held > 0 && !(isMapped && rank === 0));
  const outlierCount = histogram.subarray(floor + outlierMark).reduce((sum, held) => sum + held, 0);

  const ranksAt = headBytes + (isMapped ? mapBytes : 0);
  const bytes = new Uint8Array(ranksAt + halvesBytesOf(count) + outlierCount);
  bytes[0] = isMapped ? layouts.mapped : layouts.whole;
  bytes[1] = floor;
  if (isMapped) writeMap(registers, bytes.subarray(headBytes, ranksAt));
  writeRanks(isMapped ? gather(registers, count, floor) : registers, bytes.subarray(ranksAt), count, floor);
  return bytes;
}

export function unpackRegisters(bytes: Uint8Array): Uint8Array {
  if (bytes.length < headBytes) throw new BrokenSketch('they end too early');
  const [layout, floor] = [bytes[0]!, bytes[1]!];
  const rest = bytes.subarray(headBytes);
  if (layout === layouts.whole) return readRanks(rest, registerCount, floor);
  if (layout === layouts.mapped) return readMapped(rest, floor);
  throw new BrokenSketch('their layout is unknown');
}

function readMapped(bytes: Uint8Array, floor: number): Uint8Array {
  if (bytes.length < mapBytes) throw new BrokenSketch('they end too early');
  const map = bytes.subarray(0, mapBytes);
  const count = bitsIn(map);
  const isUseful = count > 0 && registerCount - count > emptyWrittenMax && floor > 0;
  if (!isUseful) throw new BrokenSketch('their map has no use');
  return spread(readRanks(bytes.subarray(mapBytes), count, floor), map);
}

/** Writes two ranks to a byte, the first in its lower half, and the outliers behind them. */
function writeRanks(ranks: Uint8Array, bytes: Uint8Array, count: number, floor: number): void {
  const halvesBytes = halvesBytesOf(count);
  let outlierAt = halvesBytes;
  for (let index = 0; index < halvesBytes; index += 1) {
    const lower = ranks[index * 2]!;
    const upper = ranks[index * 2 + 1]!;
    const lowerHalf = Math.min(lower - floor, outlierMark);
    const upperHalf = Math.min(upper - floor, outlierMark);
    bytes[index] = lowerHalf | (upperHalf << 4);
    if (lowerHalf === outlierMark) bytes[outlierAt++] = lower;
    if (upperHalf === outlierMark) bytes[outlierAt++] = upper;
  }
}

/** Reads that many ranks and the outliers behind them, to the end of the bytes. */
function readRanks(bytes: Uint8Array, count: number, floor: number): Uint8Array {
  const halvesBytes = halvesBytesOf(count);
  if (bytes.length < halvesBytes) throw new BrokenSketch('they end too early');
  // As long as all registers, even if some are left out: the loop that follows reads there.
  const ranks = new Uint8Array(registerCount);
  for (let index = 0; index < halvesBytes; index += 1) {
    const byte = bytes[index]!;
    ranks[index * 2] = floor + (byte & 15);
    ranks[index * 2 + 1] = floor + (byte >>> 4);
  }
  if (count % 2 === 1) {
    if (ranks[count] !== floor) throw new BrokenSketch('the last half byte is not zero');
    ranks[count] = 0;
  }
  placeOutliers(ranks, bytes.subarray(halvesBytes), floor + outlierMark);
  if (!ranks.includes(floor)) throw new BrokenSketch('no register is at the floor');
  if (floor + outlierMark > rankMax && ranks.some(rank => rank > rankMax)) {
    throw new BrokenSketch('a rank is out of range');
  }
  return ranks;
}

/** Puts the outliers, in their order, where a rank says that one belongs. */
function placeOutliers(ranks: Uint8Array, outliers: Uint8Array, lowest: number): void {
  let searchFrom = 0;
  for (const outlier of outliers) {
    const place = ranks.indexOf(lowest, searchFrom);
    if (place === -1) throw new BrokenSketch('they go on after the end');
    if (outlier < lowest || outlier > rankMax) throw new BrokenSketch('a rank is out of range');
    ranks[place] = outlier;
    searchFrom = place + 1;
  }
  if (ranks.indexOf(lowest, searchFrom) !== -1) throw new BrokenSketch('they end too early');
}

// Which registers are empty is practically random, so the loops below do not branch on it: the processor would
// mispredict half of the time, at ten times the cost of the work itself.

/** The ranks of all registers that are not empty, with one at the floor behind them to make a last pair. */
function gather(registers: Uint8Array, count: number, floor: number): Uint8Array {
  const ranks = new Uint8Array(registerCount);
  let next = 0;
  for (let register = 0; register < registerCount; register += 1) {
    ranks[next] = registers[register]!;
    next += Number(registers[register] !== 0);
  }
  ranks[count] = floor;
  return ranks;
}

/** Gives each rank to the next register on the map; all others stay empty. */
function spread(ranks: Uint8Array, map: Uint8Array): Uint8Array {
  const registers = new Uint8Array(registerCount);
  let next = 0;
  for (let register = 0; register < registerCount; register += 1) {
    const bit = (map[register >>> 3]! >>> (register & 7)) & 1;
    registers[register] = ranks[next]! & -bit;
    next += bit;
  }
  return registers;
}

function writeMap(registers: Uint8Array, map: Uint8Array): void {
  for (let register = 0; register < registerCount; register += 1) {
    map[register >>> 3]! |= Number(registers[register] !== 0) << (register & 7);
  }
}

function bitsIn(map: Uint8Array): number {
  let count = 0;
  for (let cell = 0; cell < mapBytes; cell += 1) {
    const inPairs = map[cell]! - ((map[cell]! >>> 1) & 0b01010101);
    const inFours = (inPairs & 0b00110011) + ((inPairs >>> 2) & 0b00110011);
    count += (inFours & 15) + (inFours >>> 4);
  }
  return count;
}

function halvesBytesOf(count: number): number {
  return (count + 1) >>> 1;
}
