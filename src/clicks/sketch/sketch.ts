/**
 * The number of distinct visitors, in a few bytes for a few visitors and in 8 KB for millions. Sketches of minutes
 * merge into those of hours, days and years as if all visitors had been added to one.
 *
 * Few visitors are kept one by one (`sparse.ts`) and counted exactly; many become HyperLogLog registers (`dense.ts`)
 * with a standard error of 0.8%. Invariant: a sketch, its form and its bytes depend only on the set of hashes, not on
 * their order, their number, or how sketches were merged. So replaying a log gives the same bytes, and merging is
 * commutative, associative and idempotent.
 *
 *     1 byte form and version | the form's own bytes | 1 byte check
 */
import { invariant } from '../../base/errors.ts';
import { Registers } from './dense.ts';
import { TokenSet, tokensMax } from './sparse.ts';
import { BrokenSketch, estimateVisitors, tokenOf } from './token.ts';

/** The version is in the upper half of the byte. */
const forms = { sparse: 0x11, dense: 0x12 } as const;

/**
 * Up to here the estimate is the exact number (at the very end, in one sketch of 250, two visitors share a token and
 * count as one). From here to the end of the sparse form it turns gradually into the estimate of the registers, so that
 * a chart has no jump where a sketch becomes dense.
 */
const exactMax = tokensMax / 2;

export class Sketch {
  /** The visitors while they are few; empty once there are registers. */
  #sparse = new TokenSet();
  #dense: Registers | null = null;

  /** Reads what `toBytes` wrote; throws `BrokenSketch` for anything else. */
  static from(bytes: Uint8Array): Sketch {
    const end = bytes.length - 1;
    if (bytes[end] !== checkOf(bytes, end)) throw new BrokenSketch('the check byte does not agree');
    const sketch = new Sketch();
    const content = bytes.subarray(1, end);
    if (bytes[0] === forms.sparse) sketch.#sparse = TokenSet.from(content);
    else if (bytes[0] === forms.dense) sketch.#dense = Registers.from(content);
    else throw new BrokenSketch('their form or version is unknown');
    return sketch;
  }

  get isEmpty(): boolean {
    return this.#dense === null && this.#sparse.size === 0;
  }

  /** Adds a visitor by the halves of a 64-bit hash, signed or not, whose bits must be as good as random. */
  add(high: number, low: number): void {
    this.addToken(tokenOf(high, low));
  }

  /** For a visitor who is added to several sketches: the token has to be made only once. */
  addToken(token: number): void {
    if (this.#dense !== null) {
      this.#dense.add(token);
      return;
    }
    this.#sparse.add(token);
    if (this.#sparse.size > tokensMax) this.#becomeDense(Registers.of(this.#sparse.tokens()));
  }

  /** Adds a visitor by the 16 hex digits of a 64-bit hash. */
  addHex(hash: string): void {
    invariant(/^[0-9a-f]{16}$/i.test(hash), 'a visitor hash has 16 hex digits');
    this.add(Number.parseInt(hash.slice(0, 8), 16), Number.parseInt(hash.slice(8), 16));
  }

  /** Adds all visitors of another sketch, which stays as it is. */
  merge(other: Sketch): void {
    if (other.#dense === null) {
      this.#addTokens(other.#sparse.tokens());
    } else if (this.#dense === null) {
      const ours = this.#sparse.tokens();
      this.#becomeDense(other.#dense.copy());
      this.#addTokens(ours);
    } else {
      this.#dense.merge(other.#dense);
    }
  }

  /** Adding a token up to this rank changes nothing. */
  settledRank(): number {
    return this.#dense?.lowest() ?? 0;
  }

  /** The number of different visitors, rounded to a whole one. */
  estimate(): number {
    if (this.#dense !== null) return Math.round(estimateVisitors(this.#dense.histogram()));
    const count = this.#sparse.size;
    if (count <= exactMax) return count;
    const byRegisters = estimateVisitors(Registers.of(this.#sparse.tokens()).histogram());
    const weight = (count - exactMax) / (tokensMax - exactMax);
    return Math.round(count + (byRegisters - count) * weight);
  }

  /** The same set of visitors always gives the same bytes. */
  toBytes(): Uint8Array {
    const content = (this.#dense ?? this.#sparse).toBytes();
    const bytes = new Uint8Array(content.length + 2);
    const end = bytes.length - 1;
    bytes[0] = this.#dense === null ? forms.sparse : forms.dense;
    bytes.set(content, 1);
    bytes[end] = checkOf(bytes, end);
    return bytes;
  }

  #becomeDense(registers: Registers): void {
    this.#dense = registers;
    this.#sparse = new TokenSet();
  }

  #addTokens(tokens: Int32Array): void {
    for (let index = 0; index < tokens.length; index += 1) this.addToken(tokens[index]!);
  }
}

/**
 * A sum in which each byte has an odd weight by its place. An odd factor loses nothing modulo 256, so a
 * change of any one byte always shows; most others do, too.
 */
function checkOf(bytes: Uint8Array, end: number): number {
  let sum = 0;
  let weight = 1;
  for (let index = 0; index < end; index += 1) {
    sum = (sum + Math.imul(bytes[index]!, weight)) | 0;
    weight += 2;
  }
  return sum & 0xff;
}
