/**
 * The sparse form of a sketch: the tokens themselves, while they are few. Most links have a handful of visitors a
 * minute, for which it is exact and a few bytes long. Invariant: tokens are distinct and ascending, so one set of
 * visitors has one form, in memory and in bytes, in whatever order they came.
 *
 * In bytes, tokens are gaps: the distance from one 25-bit position to the next, Rice-coded. Its lower bits
 * stand as they are; what is above them is mostly zero or one and is written in unary. A thousand tokens take
 * 2.1 bytes each, where plain integers would take 4.
 */
import {
  BrokenSketch,
  depthBits,
  depthIn,
  depthMax,
  needsDepth,
  positionBits,
  positionIn,
  tokenAt,
} from './token.ts';

/**
 * The maximum number of tokens of a sparse sketch; one more makes it dense. A little later, at 2.5 KB, the sparse form
 * would become the longer one. The limit is a number of tokens, not of bytes, because a superset never has fewer
 * tokens: so the form of a sketch does not depend on how it was merged.
 */
export const tokensMax = 1_024;

/** Shared by all empty sketches; the first add gives a sketch a larger one of its own. */
const none = new Int32Array(0);

export class TokenSet {
  #tokens: Int32Array;
  #size: number;

  /** Takes ownership of the array, whose first `size` tokens must ascend. */
  constructor(tokens: Int32Array = none, size = 0) {
    this.#tokens = tokens;
    this.#size = size;
  }

  static from(bytes: Uint8Array): TokenSet {
    const tokens = unpackTokens(bytes);
    return new TokenSet(tokens, tokens.length);
  }

  get size(): number {
    return this.#size;
  }

  /** The tokens, ascending; a view that is valid until the next `add`. */
  tokens(): Int32Array {
    return this.#tokens.subarray(0, this.#size);
  }

  add(token: number): void {
    const place = this.#placeOf(token);
    if (place < this.#size && this.#tokens[place] === token) return;
    if (this.#size === this.#tokens.length) this.#grow();
    this.#tokens.copyWithin(place + 1, place, this.#size);
    this.#tokens[place] = token;
    this.#size += 1;
  }

  toBytes(): Uint8Array {
    return packTokens(this.#tokens, this.#size);
  }

  /** Where the first token stands that is not smaller. */
  #placeOf(token: number): number {
    let low = 0;
    let high = this.#size;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#tokens[middle]! < token) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #grow(): void {
    const larger = new Int32Array(Math.max(1, this.#tokens.length * 2));
    larger.set(this.#tokens);
    this.#tokens = larger;
  }
}

function packTokens(tokens: Int32Array, size: number): Uint8Array {
  const width = gapWidthOf(size);
  // The gaps add up to less than 2^25, so all unary parts together have no more zeros than twice the tokens.
  const writer = new BitWriter(32 + size * (width + 3 + depthBits));
  writeCount(writer, size);
  let previous = 0;
  for (let index = 0; index < size; index += 1) {
    const token = tokens[index]!;
    const position = positionIn(token);
    const gap = position - previous;
    writer.writeUnary(gap >>> width);
    writer.write(gap, width);
    if (needsDepth(position)) writer.write(depthIn(token), depthBits);
    previous = position;
  }
  return writer.finish();
}

function unpackTokens(bytes: Uint8Array): Int32Array {
  const reader = new BitReader(bytes);
  const tokens = new Int32Array(readCount(reader));
  const width = gapWidthOf(tokens.length);
  let position = 0;
  for (let index = 0; index < tokens.length; index += 1) {
    position += reader.readUnary() * 2 ** width + reader.read(width);
    if (position >= 2 ** positionBits) throw new BrokenSketch('a token is out of range');
    tokens[index] = tokenAt(position, needsDepth(position) ? readDepth(reader) : 0);
    if (index > 0 && tokens[index]! <= tokens[index - 1]!) throw new BrokenSketch('tokens do not ascend');
  }
  reader.finish();
  return tokens;
}

function readDepth(reader: BitReader): number {
  const depth = reader.read(depthBits);
  if (depth < 1 || depth > depthMax) throw new BrokenSketch('a depth is out of range');
  return depth;
}

/** As many lower bits as the average gap has when that many positions are spread evenly. */
function gapWidthOf(count: number): number {
  return count === 0 ? 0 : Math.clz32(count - 1) - (32 - positionBits);
}

/** Elias' gamma code of the count and one more: 3 bits for one or two tokens, 21 for the most. */
function writeCount(writer: BitWriter, count: number): void {
  const bitsBelowFirst = 31 - Math.clz32(count + 1);
  writer.writeUnary(bitsBelowFirst);
  writer.write(count + 1, bitsBelowFirst);
}

function readCount(reader: BitReader): number {
  const bitsBelowFirst = reader.readUnary();
  // Past this many bits the number would be too large whatever they say, and would not fit the reader.
  if (bitsBelowFirst > 31 - Math.clz32(tokensMax + 1)) throw new BrokenSketch('there are too many tokens');
  const count = 2 ** bitsBelowFirst + reader.read(bitsBelowFirst) - 1;
  if (count > tokensMax) throw new BrokenSketch('there are too many tokens');
  return count;
}

/**
 * A sequence of bits, most significant bit first, for numbers that need no whole bytes. The reader trusts nothing: it
 * rejects reads past the end, and `finish` rejects a rest that the writer would not leave, so one content has exactly
 * one encoding.
 */
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
