/**
 * Rice–Golomb coding of ascending 32-bit numbers, as Safe Browsing sends hash prefixes and removal indices: the
 * first number as it is, then each difference to the one before as a quotient in unary (ones, ended by a zero) and
 * `riceParameter` low bits. Bits fill each byte from its lowest.
 *
 * Invariant: memory is allocated only for as many numbers as the data can hold, so a false count costs nothing; and
 * other work can run between slices, because a whole list is a few million numbers.
 */
import { yieldToEventLoop } from '../../base/clock.ts';
import { malformed } from './fault.ts';

export interface RiceDeltas {
  readonly firstValue: number;
  /** The number of low bits of each difference; meaningless without differences. */
  readonly riceParameter: number;
  /** Differences in the data: one fewer than there are numbers. */
  readonly entriesCount: number;
  readonly encodedData: Uint8Array;
}

const parameterMin = 2;
const parameterMax = 30;
const numberMax = 0xffff_ffff;
/** About a millisecond of work. */
const sliceEntries = 16_384;

/** Empty without data. */
export async function decodeRice(deltas: RiceDeltas | undefined, numbersMax: number): Promise<Uint32Array> {
  if (deltas === undefined) return new Uint32Array();
  const { firstValue, riceParameter, entriesCount, encodedData } = deltas;
  if (!isUint32(firstValue) || !isUint32(entriesCount)) throw malformed('Rice data out of range');
  if (entriesCount >= numbersMax) throw malformed(`${entriesCount} entries are more than a list may have`);
  if (entriesCount > 0 && (riceParameter < parameterMin || riceParameter > parameterMax)) {
    throw malformed(`Rice parameter ${riceParameter}`);
  }
  const bits = new BitReader(encodedData);
  // Each difference takes its low bits and at least the zero that ends its quotient.
  if (entriesCount * (riceParameter + 1) > bits.length) throw malformed('Rice data is cut short');

  const numbers = new Uint32Array(entriesCount + 1);
  numbers[0] = firstValue;
  let value = firstValue;
  for (let index = 1; index <= entriesCount; index += 1) {
    const quotient = bits.unary();
    value += quotient * 2 ** riceParameter + bits.read(riceParameter);
    if (value > numberMax) throw malformed('Rice data leads beyond 32 bits');
    numbers[index] = value;
    if (index % sliceEntries === 0) await yieldToEventLoop();
  }
  return numbers;
}

const isUint32 = (value: number): boolean => Number.isInteger(value) && value >= 0 && value <= numberMax;

class BitReader {
  readonly #bytes: Uint8Array;
  readonly length: number;
  #position = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.length = bytes.length * 8;
  }

  /** Counts ones up to the next zero, and skips it. */
  unary(): number {
    let ones = 0;
    while (this.#position < this.length) {
      const bit = (this.#bytes[this.#position >>> 3]! >>> (this.#position & 7)) & 1;
      this.#position += 1;
      if (bit === 0) return ones;
      ones += 1;
    }
    throw malformed('Rice data is cut short');
  }

  /** The next bits, at most 30, the first being the lowest. */
  read(count: number): number {
    if (this.#position + count > this.length) throw malformed('Rice data is cut short');
    let value = 0;
    for (let taken = 0; taken < count; ) {
      const offset = this.#position & 7;
      const here = Math.min(8 - offset, count - taken);
      const part = (this.#bytes[this.#position >>> 3]! >>> offset) & ((1 << here) - 1);
      value |= part << taken;
      taken += here;
      this.#position += here;
    }
    return value >>> 0;
  }
}
