/**
 * L1: links by their codes, bounded in number and in bytes, outside of the garbage collector's heap (blocks.ts). An
 * entry is a block with its fields, followed by its text: the code, the destination and the rest of the record. It is
 * named by the number of its block, which is valid until anything is kept or dropped.
 *
 * SIEVE decides what is evicted: a queue in order of arrival and a hand that sweeps from the oldest to the newest and
 * spares every entry that was read since its last pass. A hit sets one bit and moves nothing, so it is cheaper than LRU,
 * and a scan of cold codes does not evict the warm ones.
 */
import { type Link, type RedirectType, redirectTypes } from '../links/link.ts';
import { Blocks, blockBytes, textBytesPerBlock } from './blocks.ts';
import { LinkRecords } from './link-record.ts';

export interface LinkMemoryOptions {
  readonly entriesMax: number;
  readonly bytesMax: number;
  /** Makes it unpredictable which codes collide. */
  readonly seed: number;
}

/** What is known about an entry beside its record. */
export interface Knowledge {
  readonly readAtMs: number;
  readonly lifetimeMs: number;
  /** How long the read took. */
  readonly loadMs: number;
  /** When a hit next renews the copy in the shared cache. */
  readonly renewAtMs: number;
  /** The URL policy that judged the destination, and the life of the shared cache that has a copy. */
  readonly policyEpoch: number;
  readonly cacheEpoch: number;
  /** Whether the destination may be followed. */
  readonly isFollowable: boolean;
  /** Whether every visitor is redirected, at any time. */
  readonly isPlain: boolean;
}

/** Places of the fields in the first block of an entry; a float is two words. */
const [textAt, newerAt, olderAt, hashAt, lifetimeAt, loadAt, policyAt, cacheAt] = [0, 1, 2, 3, 6, 7, 8, 9];
const [lengthsAt, textLengthAt, clickNumberAt, clickNumberingAt] = [12, 13, 14, 15];
const [readAtFloat, renewAtFloat] = [2, 5];
/** One word: the length of the code, these bits, the type of the redirect, the length of the destination. */
const [visitedBit, linkBit, followableBit, plainBit] = [2 ** 10, 2 ** 11, 2 ** 12, 2 ** 13];
const [codeLengthMax, typeShift, typeMask, urlLengthShift] = [2 ** 10 - 1, 14, 3, 16];
const urlLengthMax = 2 ** 16 - 1;
const usPerMs = 1_000;
const wordMax = 2 ** 32 - 1;

/** An index word has a part of the hash above the number of the block: most others are seen to differ without reading them. */
const blockBits = 24;
const blockMax = 2 ** blockBits - 1;
/** An entry has its first block and at least one of text. */
const entryBlocksMin = 2;
const noBytes = new Uint8Array(0);

export class LinkMemory {
  readonly #entriesMax: number;
  readonly #seed: number;
  readonly #blocks: Blocks;
  readonly #records = new LinkRecords();
  /** Open addressing, at most half full; 0 where there is nothing. */
  readonly #index: Uint32Array;
  readonly #mask: number;
  #scratch = Buffer.alloc(4_096);
  #size = 0;
  #newest = 0;
  #oldest = 0;
  #hand = 0;

  constructor({ entriesMax, bytesMax, seed }: LinkMemoryOptions) {
    const blocks = Math.min(blockMax, Math.max(entryBlocksMin, Math.floor(bytesMax / blockBytes)));
    this.#blocks = new Blocks(blocks);
    this.#entriesMax = Math.max(1, Math.min(entriesMax, Math.floor(blocks / entryBlocksMin)));
    this.#index = new Uint32Array(2 ** Math.ceil(Math.log2(2 * this.#entriesMax)));
    this.#mask = this.#index.length - 1;
    this.#seed = seed;
  }

  get size(): number {
    return this.#size;
  }

  /** Memory taken from the system. */
  get bytes(): number {
    return this.#blocks.bytes + this.#index.byteLength;
  }

  /** The entry of a code, or 0. */
  find(code: string): number {
    const length = this.#writeCode(code);
    return length === 0 ? 0 : this.findBytes(this.#scratch, 0, length);
  }

  /** The same for a code that stands in `bytes`. */
  findBytes(bytes: Uint8Array, from: number, to: number): number {
    const hash = this.#hashOf(bytes, from, to);
    const tag = hash >>> blockBits;
    for (let place = hash & this.#mask; ; place = (place + 1) & this.#mask) {
      const word = this.#index[place]!;
      if (word === 0) return 0;
      const entry = word & blockMax;
      if (word >>> blockBits === tag && this.#isOf(entry, bytes, from, to)) return entry;
    }
  }

  /** A hit: spares the entry at the next pass of the hand. */
  visit(entry: number): void {
    const word = this.#blocks.word(entry, lengthsAt);
    if ((word & visitedBit) === 0) this.#blocks.setWord(entry, lengthsAt, word | visitedBit);
  }

  /** Keeps what is known about a code: a link, or that there is none. Others may be evicted for it. */
  keep(code: string, link: Link | undefined, known: Knowledge): void {
    const longUrl = link?.longUrl ?? '';
    const record = link === undefined ? noBytes : this.#records.encode(link);
    this.#reserve(codeLengthMax + 3 * longUrl.length + record.length);
    const text = this.#scratch;
    const codeLength = this.#writeCode(code);
    const urlLength = longUrl === '' ? 0 : text.write(longUrl, codeLength);
    if (codeLength === 0) return;
    if (urlLength > urlLengthMax) {
      this.delete(code);
      return;
    }
    const textLength = codeLength + urlLength + record.length;
    text.set(record, codeLength + urlLength);
    const blocks = 1 + Math.ceil(textLength / textBytesPerBlock);
    let entry = this.findBytes(text, 0, codeLength);
    // As new as it is, it counts as read; and it must not be evicted for itself.
    const isKnown = entry !== 0;
    if (isKnown) {
      this.#blocks.free(this.#blocks.word(entry, textAt));
      this.#blocks.setWord(entry, textAt, 0);
      this.visit(entry);
    }
    const needed = isKnown ? blocks - 1 : blocks;
    while (this.#blocks.left < needed || (!isKnown && this.#size >= this.#entriesMax)) {
      if (!this.#evictOne(entry)) {
        // Larger than the whole memory.
        if (isKnown) this.#remove(entry);
        return;
      }
    }
    if (!isKnown) entry = this.#add(this.#hashOf(text, 0, codeLength));
    const visited = isKnown ? visitedBit : 0;
    const bits =
      visited |
      (link === undefined ? 0 : linkBit | (redirectTypes.indexOf(link.redirectType) << typeShift)) |
      (known.isFollowable ? followableBit : 0) |
      (known.isPlain ? plainBit : 0);
    const store = this.#blocks;
    store.setWord(entry, textAt, store.write(text, textLength));
    store.setWord(entry, lengthsAt, codeLength | bits | (urlLength << urlLengthShift));
    store.setWord(entry, textLengthAt, textLength);
    store.setWord(entry, lifetimeAt, Math.min(wordMax, Math.floor(known.lifetimeMs * usPerMs)));
    store.setWord(entry, loadAt, Math.min(wordMax, Math.ceil(known.loadMs * usPerMs)));
    store.setWord(entry, policyAt, known.policyEpoch);
    store.setWord(entry, cacheAt, known.cacheEpoch);
    store.setFloat(entry, readAtFloat, known.readAtMs);
    store.setFloat(entry, renewAtFloat, known.renewAtMs);
    store.setWord(entry, clickNumberingAt, 0);
  }

  delete(code: string): void {
    const entry = this.find(code);
    if (entry !== 0) this.#remove(entry);
  }

  clear(): void {
    this.#blocks.clear();
    this.#records.clear();
    this.#index.fill(0);
    this.#size = this.#newest = this.#oldest = this.#hand = 0;
  }

  readAtMs(entry: number): number {
    return this.#blocks.float(entry, readAtFloat);
  }

  lifetimeMs(entry: number): number {
    return this.#blocks.word(entry, lifetimeAt) / usPerMs;
  }

  loadMs(entry: number): number {
    return this.#blocks.word(entry, loadAt) / usPerMs;
  }

  policyEpoch(entry: number): number {
    return this.#blocks.word(entry, policyAt);
  }

  cacheEpoch(entry: number): number {
    return this.#blocks.word(entry, cacheAt);
  }

  renewAtMs(entry: number): number {
    return this.#blocks.float(entry, renewAtFloat);
  }

  renewed(entry: number, cacheEpoch: number, renewAtMs: number): void {
    this.#blocks.setWord(entry, cacheAt, cacheEpoch);
    this.#blocks.setFloat(entry, renewAtFloat, renewAtMs);
  }

  judged(entry: number, policyEpoch: number, isFollowable: boolean, isPlain: boolean): void {
    this.#blocks.setWord(entry, policyAt, policyEpoch);
    const others = this.#blocks.word(entry, lengthsAt) & ~(followableBit | plainBit);
    const bits = (isFollowable ? followableBit : 0) | (isPlain ? plainBit : 0);
    this.#blocks.setWord(entry, lengthsAt, others | bits);
  }

  /** Whether there is a link under the code. */
  hasLink(entry: number): boolean {
    return (this.#blocks.word(entry, lengthsAt) & linkBit) !== 0;
  }

  isFollowable(entry: number): boolean {
    return (this.#blocks.word(entry, lengthsAt) & followableBit) !== 0;
  }

  isPlain(entry: number): boolean {
    return (this.#blocks.word(entry, lengthsAt) & plainBit) !== 0;
  }

  redirectType(entry: number): RedirectType {
    return redirectTypes[(this.#blocks.word(entry, lengthsAt) >>> typeShift) & typeMask]!;
  }

  longUrl(entry: number): string {
    const from = this.#codeLength(entry);
    const to = from + this.urlLength(entry);
    this.#reserve(to - from);
    this.#blocks.copy(this.#blocks.word(entry, textAt), from, to, this.#scratch, 0);
    return this.#scratch.toString('utf8', 0, to - from);
  }

  urlLength(entry: number): number {
    return this.#blocks.word(entry, lengthsAt) >>> urlLengthShift;
  }

  /** Copies the destination to a place in `target`; returns the position after it. */
  copyUrl(entry: number, target: Uint8Array, at: number): number {
    const from = this.#codeLength(entry);
    return this.#blocks.copy(
      this.#blocks.word(entry, textAt),
      from,
      from + this.urlLength(entry),
      target,
      at,
    );
  }

  /** The whole record; undefined where there is no link. */
  link(entry: number): Link | undefined {
    if (!this.hasLink(entry)) return undefined;
    const length = this.#blocks.word(entry, textLengthAt);
    this.#reserve(length);
    this.#blocks.copy(this.#blocks.word(entry, textAt), 0, length, this.#scratch, 0);
    const codeEnd = this.#codeLength(entry);
    const urlEnd = codeEnd + this.urlLength(entry);
    const code = this.#scratch.toString('utf8', 0, codeEnd);
    const longUrl = this.#scratch.toString('utf8', codeEnd, urlEnd);
    return this.#records.decode(code, longUrl, this.#scratch.subarray(urlEnd, length));
  }

  /** The number of the link in clicks, which its numbering makes valid; 0 is no numbering. */
  clickNumber(entry: number): number {
    return this.#blocks.word(entry, clickNumberAt);
  }

  clickNumbering(entry: number): number {
    return this.#blocks.word(entry, clickNumberingAt);
  }

  setClickNumber(entry: number, numbering: number, number: number): void {
    this.#blocks.setWord(entry, clickNumberingAt, numbering);
    this.#blocks.setWord(entry, clickNumberAt, number);
  }

  #codeLength(entry: number): number {
    return this.#blocks.word(entry, lengthsAt) & codeLengthMax;
  }

  /** Returns its length in bytes; 0 for one that cannot be kept. */
  #writeCode(code: string): number {
    const scratch = this.#scratch;
    if (code.length > codeLengthMax) return 0;
    for (let index = 0; index < code.length; index += 1) {
      const character = code.charCodeAt(index);
      if (character > 127) return this.#writeWideCode(code);
      scratch[index] = character;
    }
    return code.length;
  }

  #writeWideCode(code: string): number {
    const length = Buffer.byteLength(code);
    if (length > codeLengthMax) return 0;
    return this.#scratch.write(code);
  }

  #hashOf(bytes: Uint8Array, from: number, to: number): number {
    let hash = this.#seed;
    for (let index = from; index < to; index += 1) hash = Math.imul(hash ^ bytes[index]!, 0x0100_0193);
    hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b_3c6d);
    hash = Math.imul(hash ^ (hash >>> 12), 0x297a_2d39);
    return (hash ^ (hash >>> 15)) >>> 0;
  }

  #isOf(entry: number, bytes: Uint8Array, from: number, to: number): boolean {
    if (this.#codeLength(entry) !== to - from) return false;
    return this.#blocks.startsWith(this.#blocks.word(entry, textAt), bytes, from, to);
  }

  /** The newest entry, still without fields. */
  #add(hash: number): number {
    const store = this.#blocks;
    const entry = store.take();
    store.setWord(entry, hashAt, hash);
    store.setWord(entry, newerAt, 0);
    store.setWord(entry, olderAt, this.#newest);
    if (this.#newest !== 0) store.setWord(this.#newest, newerAt, entry);
    this.#newest = entry;
    if (this.#oldest === 0) this.#oldest = entry;
    this.#size += 1;
    let place = hash & this.#mask;
    while (this.#index[place] !== 0) place = (place + 1) & this.#mask;
    this.#index[place] = ((hash >>> blockBits) << blockBits) | entry;
    return entry;
  }

  /** Evicts an entry other than `spared`; false when there is none. */
  #evictOne(spared: number): boolean {
    if (this.#size === 0 || (this.#size === 1 && this.#oldest === spared)) return false;
    const store = this.#blocks;
    let entry = this.#hand === 0 ? this.#oldest : this.#hand;
    // Each step clears a bit, so a victim is found within one full turn, or two if it is the spared one.
    for (;;) {
      const word = store.word(entry, lengthsAt);
      if (entry !== spared && (word & visitedBit) === 0) break;
      store.setWord(entry, lengthsAt, word & ~visitedBit);
      entry = store.word(entry, newerAt);
      if (entry === 0) entry = this.#oldest;
    }
    this.#hand = store.word(entry, newerAt);
    this.#remove(entry);
    return true;
  }

  #remove(entry: number): void {
    const store = this.#blocks;
    const [newer, older] = [store.word(entry, newerAt), store.word(entry, olderAt)];
    if (this.#hand === entry) this.#hand = newer;
    if (newer !== 0) store.setWord(newer, olderAt, older);
    else this.#newest = older;
    if (older !== 0) store.setWord(older, newerAt, newer);
    else this.#oldest = newer;
    this.#size -= 1;
    this.#removeFromIndex(entry);
    // The block is the first of the chain of its text.
    store.free(entry);
  }

  /** Moves those behind it forward, so that a search never ends at a gap before its entry. */
  #removeFromIndex(entry: number): void {
    const index = this.#index;
    let gap = this.#blocks.word(entry, hashAt) & this.#mask;
    while ((index[gap]! & blockMax) !== entry) gap = (gap + 1) & this.#mask;
    for (let place = gap; ; ) {
      place = (place + 1) & this.#mask;
      const word = index[place]!;
      if (word === 0) break;
      const home = this.#blocks.word(word & blockMax, hashAt) & this.#mask;
      // It may move into the gap unless its home is between the two.
      if (((place - home) & this.#mask) < ((place - gap) & this.#mask)) continue;
      index[gap] = word;
      gap = place;
    }
    index[gap] = 0;
  }

  #reserve(length: number): void {
    if (this.#scratch.length < length) this.#scratch = Buffer.alloc(2 * length);
  }
}
