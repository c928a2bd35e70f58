/**
 * A set of texts kept as 64-bit keyed hashes in one typed array: eight bytes per slot, three slots of four in use, so
 * a million names take under 11 MB where a `Set` of strings takes more than ten times that, and the array
 * moves between threads without being copied.
 *
 * The texts themselves are not kept, so a text that was never added is found with a chance of size / 2^64: for a
 * million names and eight lookups per URL, one URL in two million million. Every added text is always found. Keeping
 * the names to be certain would triple the memory.
 */

/** The form that is sent between threads. */
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

  /** False when the set had it. `tag` separates texts of different meaning; `from` is where the text begins. */
  add(tag: number, text: string, from = 0): boolean {
    const { low, high } = this.#hashOf(tag, text, from);
    const at = placeOf(this.#slots, low, high);
    if (isTaken(this.#slots, at)) return false;
    this.#slots[at] = low;
    this.#slots[at + 1] = high;
    this.#size += 1;
    if (this.#size > this.#slotCount * fullShare) this.#resize(this.#slotCount * 2);
    return true;
  }

  has(tag: number, text: string, from = 0): boolean {
    if (this.#size === 0) return false;
    const { low, high } = this.#hashOf(tag, text, from);
    return isTaken(this.#slots, placeOf(this.#slots, low, high));
  }

  /** Transfers its contents, in as little memory as possible. */
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
      if (!isTaken(this.#slots, at)) continue;
      slots.set(this.#slots.subarray(at, at + 2), placeOf(slots, this.#slots[at]!, this.#slots[at + 1]!));
    }
    this.#slots = slots;
    this.#slotCount = slotCount;
  }
}

/**
 * The slot that has the hash, or a free one for it: there is always one, because a set grows before it is full. Hashes
 * are scaled to the number of slots, which need not be a power of two.
 */
function placeOf(slots: Int32Array, low: number, high: number): number {
  let at = Math.floor(((low >>> 0) / twoTo32) * (slots.length / 2)) * 2;
  while ((slots[at] !== low || slots[at + 1] !== high) && isTaken(slots, at))
    at = at + 2 === slots.length ? 0 : at + 2;
  return at;
}

const isTaken = (slots: Int32Array, at: number): boolean => slots[at] !== 0 || slots[at + 1] !== 0;

/**
 * HalfSipHash-2-4 with 64 bits of output, over the characters of an ASCII text. It is keyed, because a list may come from
 * third parties: with a hash that anyone can compute, an attacker could get a name listed that collides with a bank's and
 * so block the bank. The full SipHash would take twice the time for a strength that a hash which never leaves the process
 * does not need. The result is left in `high` and `low`, so that a call allocates nothing.
 */
export class KeyedHash {
  /** The upper 32 bits of the last hash, as a signed integer. */
  high = 0;
  /** The lower 32 bits of the last hash, as a signed integer. */
  low = 0;

  readonly #k0: number;
  readonly #k1: number;

  constructor(key: Uint8Array) {
    if (key.length !== keyBytes) throw new RangeError(`a key of this hash has ${keyBytes} bytes`);
    const words = new DataView(key.buffer, key.byteOffset, key.byteLength);
    this.#k0 = words.getInt32(0, true);
    this.#k1 = words.getInt32(4, true);
  }

  /** Hashes `tag` and the characters of `text` from `from` on; only the low byte of each character counts. */
  hash(tag: number, text: string, from = 0): void {
    // The constants are those of the specification.
    let v0 = this.#k0;
    let v1 = this.#k1 ^ 0xee;
    let v2 = this.#k0 ^ 0x6c796765;
    let v3 = this.#k1 ^ 0x74656462;
    const length = text.length - from + 1;
    const wordCount = length >>> 2;
    // One more word holds the rest of the text and its length; the last eight rounds finalise the result.
    let block = 0;
    for (let word = 0; word <= wordCount; word += 1) {
      const at = from + word * 4 - 1;
      block = word === wordCount ? length << 24 : 0;
      const end = word === wordCount ? length & 3 : 4;
      for (let byte = 0; byte < end; byte += 1) {
        const character = word === 0 && byte === 0 ? tag : text.charCodeAt(at + byte);
        block |= (character & 0xff) << (byte * 8);
      }
      v3 ^= block;
      for (let round = 0; round < 2; round += 1) {
        v0 = (v0 + v1) | 0;
        v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
        v0 = (v0 << 16) | (v0 >>> 16);
        v2 = (v2 + v3) | 0;
        v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
        v0 = (v0 + v3) | 0;
        v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
        v2 = (v2 + v1) | 0;
        v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
        v2 = (v2 << 16) | (v2 >>> 16);
      }
      v0 ^= block;
    }
    v2 ^= 0xee;
    for (let round = 0; round < 8; round += 1) {
      if (round === 4) {
        this.low = v1 ^ v3;
        v1 ^= 0xdd;
      }
      v0 = (v0 + v1) | 0;
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
      v0 = (v0 << 16) | (v0 >>> 16);
      v2 = (v2 + v3) | 0;
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
      v0 = (v0 + v3) | 0;
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
      v2 = (v2 + v1) | 0;
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
      v2 = (v2 << 16) | (v2 >>> 16);
    }
    this.high = v1 ^ v3;
  }
}

export const keyBytes = 8;
