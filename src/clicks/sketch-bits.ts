/**
 * A sequence of bits in bytes, most significant bit first, for numbers that need no whole bytes. The reader
 * trusts nothing: it refuses to read past the end, and `finish` refuses anything that the writer would not
 * have left there, so one content has exactly one encoding.
 */
import { BrokenSketch } from './broken-sketch.ts';

export class BitWriter {
  readonly #bytes: Uint8Array;
  #position = 0;

  constructor(bitsMax: number) {
    this.#bytes = new Uint8Array((bitsMax + 7) >>> 3);
  }

  /** Writes the lowest `width` bits of a value, at most 32. */
  write(value: number, width: number): void {
    let left = width;
    while (left > 0) {
      const room = 8 - (this.#position & 7);
      const taken = Math.min(room, left);
      left -= taken;
      const chunk = (value >>> left) & ((1 << taken) - 1);
      this.#bytes[this.#position >>> 3]! |= chunk << (room - taken);
      this.#position += taken;
    }
  }

  /** Writes a small number as that many zeros and a one. */
  writeUnary(value: number): void {
    // The bytes start out as zeros, so leaving them out is writing them.
    this.#position += value;
    this.write(1, 1);
  }

  finish(): Uint8Array {
    return this.#bytes.subarray(0, (this.#position + 7) >>> 3);
  }
}

export class BitReader {
  readonly #bytes: Uint8Array;
  readonly #bitCount: number;
  #position = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#bitCount = bytes.length * 8;
  }

  read(width: number): number {
    if (this.#position + width > this.#bitCount) throw new BrokenSketch('they end too early');
    let value = 0;
    let left = width;
    while (left > 0) {
      const room = 8 - (this.#position & 7);
      const taken = Math.min(room, left);
      left -= taken;
      const chunk = (this.#bytes[this.#position >>> 3]! >>> (room - taken)) & ((1 << taken) - 1);
      value = (value << taken) | chunk;
      this.#position += taken;
    }
    return value >>> 0;
  }

  readUnary(): number {
    const start = this.#position;
    while (this.#position < this.#bitCount) {
      const restOfByte = (this.#bytes[this.#position >>> 3]! << (this.#position & 7)) & 0xff;
      if (restOfByte !== 0) {
        const one = this.#position + Math.clz32(restOfByte) - 24;
        this.#position = one + 1;
        return one - start;
      }
      this.#position = (this.#position | 7) + 1;
    }
    throw new BrokenSketch('they end too early');
  }

  /** Nothing may be left but the zeros that fill the last byte. */
  finish(): void {
    const left = this.#bitCount - this.#position;
    if (left >= 8) throw new BrokenSketch('they go on after the end');
    if (this.read(left) !== 0) throw new BrokenSketch('the last byte is not filled with zeros');
  }
}
