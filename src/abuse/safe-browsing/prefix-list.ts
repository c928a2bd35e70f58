/**
 * The hash prefixes of one threat list. Nearly all have four bytes and lie as numbers in one sorted array, four
 * bytes of memory each; version 4 lengthens a few that would otherwise hit popular sites, and those lie beside.
 *
 * Invariant: the list is sorted as the bytes are, both kinds in one order (a prefix before those it begins), because
 * removals name positions in that order and the checksum runs over it. A list never changes; an update makes another.
 */
import { createHash } from 'node:crypto';
import { letOthersRun } from '../../base/clock.ts';
import { malformed } from './fault.ts';

export interface Prefixes {
  /** First four bytes of a SHA-256, read as a big-endian number; ascending. */
  readonly fourByte: Uint32Array;
  /** Five to 32 bytes each; ascending. */
  readonly longer: readonly Uint8Array[];
}

export const noPrefixes: Prefixes = { fourByte: new Uint32Array(), longer: [] };

/** 64 MB in memory at the very worst; the largest list of today has a few hundred thousand. */
export const prefixesMax = 16 * 1024 * 1024;
const sliceEntries = 256 * 1024;

export class PrefixList implements Prefixes {
  readonly fourByte: Uint32Array;
  readonly longer: readonly Uint8Array[];
  /** The first four bytes of each longer prefix, to find the few that are worth comparing. */
  readonly #longerStarts: Uint32Array;

  constructor({ fourByte, longer }: Prefixes = noPrefixes) {
    this.fourByte = fourByte;
    this.longer = longer;
    this.#longerStarts = Uint32Array.from(longer, firstFour);
  }

  get size(): number {
    return this.fourByte.length + this.longer.length;
  }

  /** Whether any prefix of the list begins this SHA-256. */
  matches(hash: Uint8Array): boolean {
    const start = firstFour(hash);
    if (this.fourByte[placeOf(start, this.fourByte)] === start) return true;
    for (let index = placeOf(start, this.#longerStarts); this.#longerStarts[index] === start; index += 1) {
      if (begins(this.longer[index]!, hash)) return true;
    }
    return false;
  }

  /** Without the entries at these positions, which ascend; then with the additions. */
  async updated(removals: Uint32Array, additions: Prefixes): Promise<PrefixList> {
    if (this.size - removals.length + additions.fourByte.length + additions.longer.length > prefixesMax) {
      throw malformed('the list would grow too long');
    }
    const kept = this.#without(removals);
    await letOthersRun();
    const fourByte = merged(kept.fourByte, additions.fourByte);
    return new PrefixList({ fourByte, longer: [...kept.longer, ...additions.longer].sort(Buffer.compare) });
  }

  /** The SHA-256 of all prefixes, one after the other. */
  async checksum(): Promise<Buffer> {
    const digest = createHash('sha256');
    const addNumbers = async (from: number, to: number): Promise<void> => {
      for (let start = from; start < to; start += sliceEntries) {
        const numbers = this.fourByte.slice(start, Math.min(to, start + sliceEntries));
        digest.update(Buffer.from(numbers.buffer).swap32());
        await letOthersRun();
      }
    };
    let before = 0;
    for (const [index, prefix] of this.longer.entries()) {
      const place = this.#numbersBefore(index);
      await addNumbers(before, place);
      digest.update(prefix);
      before = place;
    }
    await addNumbers(before, this.fourByte.length);
    return digest.digest();
  }

  /** How many four-byte prefixes come before a longer one: all that are not larger than its start. */
  #numbersBefore(longerIndex: number): number {
    const start = this.#longerStarts[longerIndex]!;
    const place = placeOf(start, this.fourByte);
    return this.fourByte[place] === start ? place + 1 : place;
  }

  #without(removals: Uint32Array): Prefixes {
    const longerPositions = this.longer.map((_, index) => index + this.#numbersBefore(index));
    const removedLonger = new Set<number>();
    const removedNumbers: number[] = [];
    let [longerBefore, last] = [0, -1];
    for (const position of removals) {
      while (longerPositions[longerBefore]! < position) longerBefore += 1;
      if (position <= last || position >= this.size) throw malformed('a removal names no entry of the list');
      last = position;
      if (longerPositions[longerBefore] === position) removedLonger.add(longerBefore);
      else removedNumbers.push(position - longerBefore);
    }
    return {
      fourByte: withoutIndices(this.fourByte, removedNumbers),
      longer: this.longer.filter((_, index) => !removedLonger.has(index)),
    };
  }
}

export function firstFour(bytes: Uint8Array): number {
  return ((bytes[0]! << 24) | (bytes[1]! << 16) | (bytes[2]! << 8) | bytes[3]!) >>> 0;
}

export function fourBytesOf(prefix: number): Uint8Array {
  return Uint8Array.of(prefix >>> 24, (prefix >>> 16) & 0xff, (prefix >>> 8) & 0xff, prefix & 0xff);
}

function begins(prefix: Uint8Array, hash: Uint8Array): boolean {
  return prefix.every((byte, index) => hash[index] === byte);
}

/** Where the first number lies that is not smaller. */
function placeOf(wanted: number, sorted: Uint32Array): number {
  let [from, to] = [0, sorted.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (sorted[middle]! < wanted) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** Few go or come compared with all there are, so whole stretches are copied. The indices ascend. */
function withoutIndices(numbers: Uint32Array, indices: readonly number[]): Uint32Array {
  const kept = new Uint32Array(numbers.length - indices.length);
  let [from, to] = [0, 0];
  for (const index of [...indices, numbers.length]) {
    const stretch = numbers.subarray(from, index);
    kept.set(stretch, to);
    to += stretch.length;
    from = index + 1;
  }
  return kept;
}

/** Both ascend, and so does what comes of them. */
function merged(numbers: Uint32Array, additions: Uint32Array): Uint32Array {
  if (numbers.length === 0) return additions.slice();
  const both = new Uint32Array(numbers.length + additions.length);
  let [from, to] = [0, 0];
  for (const addition of additions) {
    const place = from + placeOf(addition, numbers.subarray(from));
    both.set(numbers.subarray(from, place), to);
    to += place - from;
    from = place;
    both[to] = addition;
    to += 1;
  }
  both.set(numbers.subarray(from), to);
  return both;
}
