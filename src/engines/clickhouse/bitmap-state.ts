/**
 * What `hex(groupBitmapState(…))` says, read here: a set that ClickHouse has merged comes over in a few kilobytes, and
 * to look into it takes microseconds, where unfolding it into rows there took milliseconds. The form is the one in
 * which states lie on disks and go from replica to replica, so versions of the engine agree on it: a byte for the kind,
 * then either a few numbers one by one, or a Roaring bitmap in its portable form.
 */
import { Buffer } from 'node:buffer';

const oneByOne = 0;
const roaring = 1;
const withoutRuns = 12_346;
const withRuns = 12_347;
/** With fewer pieces than this, and runs among them, there is no table of where they begin. */
const piecesWithOffsets = 4;
/** A piece has the numbers that share their upper 16 bits: so many at most one by one, otherwise all of its bits. */
const listMax = 4_096;
const pieceBits = 65_536;
const pieceBytes = pieceBits / 8;

/** The numbers below `bitCount` as bits, in words of 32; a number far beyond it has no place here and is an error. */
export function bitsOf(hexState: string, bitCount: number): Uint32Array {
  const pieces = Math.ceil(bitCount / pieceBits);
  const bits = new Uint8Array(pieces * pieceBytes);
  const state = new Reader(Buffer.from(hexState, 'hex'));
  const kind = state.u8();
  if (kind === oneByOne) {
    for (let left = state.variable(); left > 0; left -= 1) setBit(bits, state.u32());
  } else if (kind === roaring) {
    state.variable();
    addRoaring(bits, state);
  } else {
    throw new Error(`A bitmap of ClickHouse has the unknown kind ${kind}.`);
  }
  return new Uint32Array(bits.buffer);
}

function addRoaring(bits: Uint8Array, state: Reader): void {
  const cookie = state.u32();
  const hasRuns = (cookie & 0xffff) === withRuns;
  if (!hasRuns && cookie !== withoutRuns)
    throw new Error(`A bitmap of ClickHouse begins with ${cookie}, which no Roaring bitmap does.`);
  const pieces = hasRuns ? (cookie >>> 16) + 1 : state.u32();
  const runFlags = hasRuns ? state.bytes(Math.ceil(pieces / 8)) : new Uint8Array(Math.ceil(pieces / 8));
  const headers = Array.from({ length: pieces }, () => ({ key: state.u16(), count: state.u16() + 1 }));
  if (!hasRuns || pieces >= piecesWithOffsets) state.bytes(pieces * 4);
  for (const [index, { key, count }] of headers.entries()) {
    const base = key * pieceBits;
    if ((runFlags[index >> 3]! >> (index & 7)) & 1) addRuns(bits, base, state);
    else if (count > listMax) bits.set(state.bytes(pieceBytes), base / 8);
    else for (let left = count; left > 0; left -= 1) setBit(bits, base + state.u16());
  }
}

function addRuns(bits: Uint8Array, base: number, state: Reader): void {
  for (let runs = state.u16(); runs > 0; runs -= 1) {
    const first = base + state.u16();
    const last = first + state.u16();
    for (let number = first; number <= last; number += 1) setBit(bits, number);
  }
}

function setBit(bits: Uint8Array, number: number): void {
  const byte = number >>> 3;
  if (byte >= bits.length) throw new RangeError(`A bitmap of ClickHouse has ${number}, which is too large.`);
  bits[byte]! |= 1 << (number & 7);
}

/** One after the other; beyond the end it throws, so half a state is never taken for a whole one. */
class Reader {
  readonly #all: Buffer;
  #at = 0;

  constructor(all: Buffer) {
    this.#all = all;
  }

  u8(): number {
    return this.#all.readUInt8(this.#move(1));
  }

  u16(): number {
    return this.#all.readUInt16LE(this.#move(2));
  }

  u32(): number {
    return this.#all.readUInt32LE(this.#move(4));
  }

  bytes(count: number): Uint8Array {
    if (this.#at + count > this.#all.length) throw new Error('A bitmap of ClickHouse ends too early.');
    const from = this.#move(count);
    return this.#all.subarray(from, from + count);
  }

  /** Seven bits a byte, the lowest first. */
  variable(): number {
    for (let [value, scale] = [0, 1]; ; scale *= 128) {
      const byte = this.u8();
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  }

  #move(count: number): number {
    this.#at += count;
    return this.#at - count;
  }
}
