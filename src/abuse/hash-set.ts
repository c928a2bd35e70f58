/**
 * A set of texts kept as 64-bit keyed hashes in one typed array: eight bytes per slot, three slots of four in use, so
 * a million names take under 11 MB where a `Set` of strings takes more than ten times that, and the array
 * moves between threads without being copied.
 *
 * The texts themselves are not kept, so a text that was never added is found with a chance of size / 2^64: for a
 * million names and eight questions per URL, one URL in two million million. What was added is always found. Keeping
 * the names to be certain would triple the memory.
 */
import { KeyedHash } from './keyed-hash.ts';

/** What crosses between threads. */
export interface HashSetData {
  /** Pairs of a low and a high word; both zero where a slot is free. */
  readonly slots: Int32Array<ArrayBuffer>;
  readonly size: number;
}

const fullShare = 0.75;
const slotsMin = 16;
const twoTo32 = 0x1_0000_0000;

export class HashSet {
  readonly #hash: KeyedHash;
  #slots: Int32Array<ArrayBuffer>;
  #slotCount: number;
  #size: number;

  constructor(key: Uint8Array, data?: HashSetData) {
    this.#hash = new KeyedHash(key);
    this.#slots = data?.slots ?? new Int32Array(slotsMin * 2);
    this.#slotCount = this.#slots.length / 2;
    this.#size = data?.size ?? 0;
  }

  get size(): number {
    return this.#size;
  }

  get bytes(): number {
    return this.#slots.byteLength;
  }

  /** False when it was in there. `tag` keeps apart texts of different meaning; `from` is where the text begins. */
  add(tag: number, text: string, from = 0): boolean {
    const { low, high } = this.#hashOf(tag, text, from);
    if (!place(this.#slots, this.#slotCount, low, high)) return false;
    this.#size += 1;
    if (this.#size > this.#slotCount * fullShare) this.#resize(this.#slotCount * 2);
    return true;
  }

  has(tag: number, text: string, from = 0): boolean {
    if (this.#size === 0) return false;
    const { low, high } = this.#hashOf(tag, text, from);
    const slots = this.#slots;
    let slot = firstSlot(low, this.#slotCount);
    for (;;) {
      const slotLow = slots[slot * 2]!;
      const slotHigh = slots[slot * 2 + 1]!;
      if (slotLow === low && slotHigh === high) return true;
      if (slotLow === 0 && slotHigh === 0) return false;
      slot = slot + 1 === this.#slotCount ? 0 : slot + 1;
    }
  }

  /** Gives away what it holds, in as little room as it needs. */
  release(): HashSetData {
    this.#resize(Math.max(slotsMin, Math.ceil(this.#size / fullShare) + 1));
    return { slots: this.#slots, size: this.#size };
  }

  #hashOf(tag: number, text: string, from: number): { low: number; high: number } {
    const hash = this.#hash;
    hash.hash(tag, text, from);
    // Two zeros mean a free slot.
    if (hash.low === 0 && hash.high === 0) hash.high = 1;
    return hash;
  }

  #resize(slotCount: number): void {
    if (slotCount === this.#slotCount) return;
    const slots = new Int32Array(slotCount * 2);
    for (let at = 0; at < this.#slots.length; at += 2) {
      const low = this.#slots[at]!;
      const high = this.#slots[at + 1]!;
      if (low !== 0 || high !== 0) place(slots, slotCount, low, high);
    }
    this.#slots = slots;
    this.#slotCount = slotCount;
  }
}

/** Maps a hash to a slot in proportion, so that the number of slots need not be a power of two. */
function firstSlot(low: number, slotCount: number): number {
  return Math.floor(((low >>> 0) / twoTo32) * slotCount);
}

/** There is always a free slot, because a set grows before it is full. */
function place(slots: Int32Array, slotCount: number, low: number, high: number): boolean {
  let slot = firstSlot(low, slotCount);
  for (;;) {
    const slotLow = slots[slot * 2]!;
    const slotHigh = slots[slot * 2 + 1]!;
    if (slotLow === low && slotHigh === high) return false;
    if (slotLow === 0 && slotHigh === 0) break;
    slot = slot + 1 === slotCount ? 0 : slot + 1;
  }
  slots[slot * 2] = low;
  slots[slot * 2 + 1] = high;
  return true;
}
