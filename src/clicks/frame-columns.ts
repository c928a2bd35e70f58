/**
 * Columns of a frame in few and small bytes. A column is as wide as its largest number needs; a column of zeros has
 * width 0. In a column of positions, 0 means the entry after the highest so far, any other number is the position plus
 * one: lists are made in the order in which clicks first need their entries, so that most numbers are 0.
 */

const wideTimeBytes = 8;
/** A column of zeros takes no bytes, so the number of bytes does not bound its length. */
export const columnLengthMax = 2_000_000;
type Words = Uint8Array | Uint16Array | Uint32Array;

export class ColumnWriter {
  readonly widths: number[] = [];
  readonly parts: Uint8Array[] = [];

  /** Whole numbers from 0 to 2³² - 1. */
  add(column: Words): void {
    this.#addNarrow(column, largestIn(column));
  }

  addPositions(positions: Uint32Array): void {
    const column = new Uint32Array(positions.length);
    let next = 0;
    let largest = 0;
    for (let index = 0; index < positions.length; index += 1) {
      const position = positions[index]!;
      if (position === next) next += 1;
      else {
        column[index] = position + 1;
        if (position >= largest) largest = position + 1;
      }
    }
    this.#addNarrow(column, largest);
  }

  /** Differences to the time before, zigzag-encoded: later ones are even. Wide if a difference does not fit a word. */
  addTimes(times: Float64Array): void {
    const column = new Float64Array(times.length);
    let largest = 0;
    for (let index = 1; index < times.length; index += 1) {
      const difference = times[index]! - times[index - 1]!;
      const even = difference >= 0 ? 2 * difference : -2 * difference - 1;
      column[index] = even;
      if (even > largest) largest = even;
    }
    if (largest < 2 ** 32) this.#addNarrow(column, largest);
    else {
      this.widths.push(wideTimeBytes);
      this.parts.push(new Uint8Array(column.buffer));
    }
  }

  #addNarrow(column: Words | Float64Array, largest: number): void {
    const width = largest === 0 ? 0 : largest < 2 ** 8 ? 1 : largest < 2 ** 16 ? 2 : 4;
    this.widths.push(width);
    if (width > 0) this.parts.push(new Uint8Array(narrowed(column, width).buffer));
  }
}

function largestIn(column: Words): number {
  let largest = 0;
  for (let index = 0; index < column.length; index += 1)
    if (column[index]! > largest) largest = column[index]!;
  return largest;
}

function narrowed(column: Words | Float64Array, width: number): Words {
  if (width === 1) return new Uint8Array(column);
  return width === 2 ? new Uint16Array(column) : new Uint32Array(column);
}

/** Reads columns in the order in which they were written. Throws for bytes that no writer produces. */
export class ColumnReader {
  readonly #content: Buffer;
  readonly #widths: readonly number[];
  #position: number;
  #column = 0;

  constructor(content: Buffer, position: number, widths: readonly number[]) {
    this.#content = content;
    this.#position = position;
    this.#widths = widths;
  }

  bytes(count: number): Uint8Array {
    const column = this.#words(count);
    return column instanceof Uint8Array ? column : Uint8Array.from(column, word => Math.min(word, 255));
  }

  positions(count: number): Uint32Array {
    const column = this.#words(count);
    const positions = new Uint32Array(count);
    let next = 0;
    for (let index = 0; index < count; index += 1) {
      const word = column[index]!;
      if (word > 0) positions[index] = word - 1;
      else {
        positions[index] = next;
        next += 1;
      }
    }
    return positions;
  }

  times(count: number, startAt: number): Float64Array {
    const isWide = this.#widths[this.#column] === wideTimeBytes;
    const column = isWide ? new Float64Array(this.#take(count * wideTimeBytes)) : this.#words(count);
    const times = new Float64Array(count);
    let time = startAt;
    for (let index = 0; index < count; index += 1) {
      const even = column[index]!;
      time += even % 2 === 0 ? even / 2 : -(even + 1) / 2;
      times[index] = time;
    }
    return times;
  }

  /** Throws unless everything has been read. */
  end(): void {
    if (this.#position !== this.#content.length || this.#column !== this.#widths.length)
      throw new Error('a frame is not as long as it says');
  }

  #words(count: number): Words {
    if (!(Number.isSafeInteger(count) && count >= 0 && count <= columnLengthMax))
      throw new Error('a frame has a column of an impossible length');
    const width = this.#widths[this.#column];
    if (width === 0) {
      this.#column += 1;
      return new Uint8Array(count);
    }
    if (width === 1) return new Uint8Array(this.#take(count));
    if (width === 2) return new Uint16Array(this.#take(2 * count));
    if (width === 4) return new Uint32Array(this.#take(4 * count));
    throw new Error('a frame has a column of an unknown width');
  }

  /** A copy, because a typed array must be aligned. */
  #take(bytes: number): ArrayBuffer {
    const end = this.#position + bytes;
    if (!(end <= this.#content.length)) throw new Error('a frame is not as long as it says');
    const taken = new Uint8Array(this.#content.subarray(this.#position, end));
    this.#position = end;
    this.#column += 1;
    return taken.buffer;
  }
}

/** Lists repeated values once, with a position for each click. */
export class Positions<Value> {
  readonly values: Value[] = [];
  readonly positions: Uint32Array;
  readonly #known = new Map<string | null, number>();
  #lastKey: string | null | undefined;
  #lastPosition = 0;

  constructor(count: number) {
    this.positions = new Uint32Array(count);
  }

  /** No two different values have the same key. */
  set(index: number, key: string | null, value: Value): void {
    if (key !== this.#lastKey) {
      this.#lastPosition = this.#known.get(key) ?? this.#add(key, value);
      this.#lastKey = key;
    }
    this.positions[index] = this.#lastPosition;
  }

  #add(key: string | null, value: Value): number {
    const position = this.values.push(value) - 1;
    this.#known.set(key, position);
    return position;
  }
}

export interface DistinctPairs {
  readonly count: number;
  readonly positions: Uint32Array;
  /** All high words, then all low words. */
  readonly bytes: Uint8Array;
}

/** The distinct pairs of words. A table of twice as many places as clicks takes a tenth of the time of a `Map`. */
export function distinctPairs(high: Uint32Array, low: Uint32Array): DistinctPairs {
  const count = high.length;
  const positions = new Uint32Array(count);
  const words = new Uint32Array(2 * count);
  const size = 2 ** Math.ceil(Math.log2(2 * count + 2));
  // Stores the position plus one, so that zero means a free place.
  const table = new Uint32Array(size);
  let distinct = 0;
  for (let index = 0; index < count; index += 1) {
    const pairHigh = high[index]!;
    const pairLow = low[index]!;
    let place = (pairHigh ^ Math.imul(pairLow, 0x9e37_79b1)) & (size - 1);
    let above = table[place]!;
    while (above !== 0 && !(words[above - 1] === pairHigh && words[count + above - 1] === pairLow)) {
      place = (place + 1) & (size - 1);
      above = table[place]!;
    }
    if (above === 0) {
      words[distinct] = pairHigh;
      words[count + distinct] = pairLow;
      distinct += 1;
      table[place] = distinct;
      above = distinct;
    }
    positions[index] = above - 1;
  }
  words.copyWithin(distinct, count, count + distinct);
  return { count: distinct, positions, bytes: new Uint8Array(words.buffer, 0, 8 * distinct) };
}

/** Throws when there are fewer pairs than the positions need. */
export function pairsAt(
  bytes: Uint8Array,
  count: number,
  positions: Uint32Array,
): { readonly high: Uint32Array; readonly low: Uint32Array } {
  if (bytes.length !== 8 * count) throw new Error('a frame is not as long as it says');
  const words = new Uint32Array(new Uint8Array(bytes).buffer);
  const high = new Uint32Array(positions.length);
  const low = new Uint32Array(positions.length);
  for (let index = 0; index < positions.length; index += 1) {
    const position = positions[index]!;
    if (position >= count) throw new Error('a click has no visitor');
    high[index] = words[position]!;
    low[index] = words[count + position]!;
  }
  return { high, low };
}
