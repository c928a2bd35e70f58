/**
 * The dense form of a sketch: HyperLogLog's registers, a byte each in memory. A register holds the highest
 * rank of the hashes that fell on it, so registers depend on the set of hashes only, and the union of two
 * sketches is the maximum of each pair. The invariant is that no register exceeds the highest rank there is,
 * which leaves each byte's top bit free; merging relies on it.
 */
import { packRegisters, unpackRegisters } from './sketch-dense-layout.ts';
import { rankMax, rankOf, registerCount, registerOf } from './sketch-token.ts';

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
      // With its top bit set, a byte of ours can give up theirs without borrowing; if it was enough, the bit
      // stays.
      const notSmaller = ((our | topBits) - their) & topBits;
      // Spreads each of those bits over the rest of its byte: 0x80 becomes 0x7f.
      const keep = notSmaller - (notSmaller >>> 7);
      ours[index] = (our & keep) | (their & ~keep);
    }
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
