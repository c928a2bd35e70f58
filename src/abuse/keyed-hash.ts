/**
 * HalfSipHash-2-4 with 64 bits of output, over the characters of an ASCII text. Lists of a million names are kept as
 * such hashes (see hash-set.ts). It is keyed, because a list may come from strangers: with a hash that anyone can
 * compute, somebody could have a name listed that collides with a bank's and so block the bank.
 *
 * It works on 32-bit words, which JavaScript has; the full SipHash would take twice the time for a strength that a
 * hash which never leaves the process does not need. The result is left in `high` and `low`, so that a call
 * allocates nothing.
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
    // One word more holds the rest of the text and its length; the last eight rounds bring out the result.
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
