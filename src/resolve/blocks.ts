/**
 * Memory for many small records, in chains of blocks of 64 bytes outside of the garbage collector's heap: to the
 * collector, a million records are a few hundred objects. A freed block is the next to be taken, so nothing fragments,
 * and memory is allocated a chunk at a time, when it is needed.
 *
 * The first word of a block is the number of the next in its chain, 0 at the end; no block has the number 0. The caller
 * decides what the other 15 words hold.
 */
export const blockBytes = 64;
const blockWords = blockBytes / 4;
const blockFloats = blockBytes / 8;
/** A chunk is a mebibyte. */
const chunkBits = 14;
const blockMask = 2 ** chunkBits - 1;
/** Bytes at the start of a block for the number of the next one. */
const linkBytes = 4;
export const textBytesPerBlock = blockBytes - linkBytes;

export class Blocks {
  readonly #blocksMax: number;
  #words: Uint32Array[] = [];
  #floats: Float64Array[] = [];
  #bytes: Uint8Array[] = [];
  /** The first of the freed blocks, which are a chain, and how many there are. */
  #free = 0;
  #freeCount = 0;
  /** Blocks from here on were never used. */
  #fresh = 1;

  constructor(blocksMax: number) {
    this.#blocksMax = blocksMax;
  }

  /** How many blocks can still be taken. */
  get left(): number {
    return this.#freeCount + this.#blocksMax - (this.#fresh - 1);
  }

  /** Memory taken from the system. */
  get bytes(): number {
    return this.#words.length * 2 ** chunkBits * blockBytes;
  }

  /** A block at the end of a chain, with undefined contents. At least one must be left. */
  take(): number {
    const block = this.#free;
    if (block === 0) return this.#takeFresh();
    this.#free = this.word(block, 0);
    this.#freeCount -= 1;
    this.setWord(block, 0, 0);
    return block;
  }

  /** Frees a chain; 0 is an empty one. */
  free(first: number): void {
    for (let block = first; block !== 0; ) {
      const next = this.word(block, 0);
      this.setWord(block, 0, this.#free);
      this.#free = block;
      this.#freeCount += 1;
      block = next;
    }
  }

  clear(): void {
    this.#words = [];
    this.#floats = [];
    this.#bytes = [];
    this.#free = this.#freeCount = 0;
    this.#fresh = 1;
  }

  word(block: number, place: number): number {
    return this.#words[block >>> chunkBits]![(block & blockMask) * blockWords + place]!;
  }

  setWord(block: number, place: number, value: number): void {
    this.#words[block >>> chunkBits]![(block & blockMask) * blockWords + place] = value;
  }

  /** A float takes two words; its place is half the place of the first. */
  float(block: number, place: number): number {
    return this.#floats[block >>> chunkBits]![(block & blockMask) * blockFloats + place]!;
  }

  setFloat(block: number, place: number, value: number): void {
    this.#floats[block >>> chunkBits]![(block & blockMask) * blockFloats + place] = value;
  }

  /** Writes the beginning of a text into a new chain; 0 for an empty text. Enough blocks must be left. */
  write(text: Uint8Array, length: number): number {
    let first = 0;
    let last = 0;
    for (let from = 0; from < length; from += textBytesPerBlock) {
      const block = this.take();
      const bytes = this.#bytes[block >>> chunkBits]!;
      const start = (block & blockMask) * blockBytes + linkBytes;
      const count = Math.min(textBytesPerBlock, length - from);
      for (let index = 0; index < count; index += 1) bytes[start + index] = text[from + index]!;
      if (first === 0) first = block;
      else this.setWord(last, 0, block);
      last = block;
    }
    return first;
  }

  /** Copies the text of a chain between two positions to a place in `target`; returns the position after it. */
  copy(first: number, from: number, to: number, target: Uint8Array, at: number): number {
    let block = first;
    let start = 0;
    let place = at;
    for (; start + textBytesPerBlock <= from; start += textBytesPerBlock) block = this.word(block, 0);
    for (let index = from; index < to; block = this.word(block, 0), start += textBytesPerBlock) {
      const bytes = this.#bytes[block >>> chunkBits]!;
      const shift = (block & blockMask) * blockBytes + linkBytes - start;
      const end = Math.min(to, start + textBytesPerBlock);
      for (; index < end; index += 1, place += 1) target[place] = bytes[shift + index]!;
    }
    return place;
  }

  /** Whether the text of a chain begins with these bytes. */
  startsWith(first: number, text: Uint8Array, from: number, to: number): boolean {
    let block = first;
    for (let start = from; start < to; start += textBytesPerBlock, block = this.word(block, 0)) {
      if (block === 0) return false;
      const bytes = this.#bytes[block >>> chunkBits]!;
      const shift = (block & blockMask) * blockBytes + linkBytes - start;
      const end = Math.min(to, start + textBytesPerBlock);
      for (let index = start; index < end; index += 1) if (bytes[shift + index] !== text[index]) return false;
    }
    return true;
  }

  #takeFresh(): number {
    const block = this.#fresh;
    if (block > this.#blocksMax) throw new RangeError('there is no block left');
    this.#fresh += 1;
    if (block >>> chunkBits === this.#words.length) {
      const chunk = new ArrayBuffer(2 ** chunkBits * blockBytes);
      this.#words.push(new Uint32Array(chunk));
      this.#floats.push(new Float64Array(chunk));
      this.#bytes.push(new Uint8Array(chunk));
    }
    this.setWord(block, 0, 0);
    return block;
  }
}
