/**
 * How many different visitors there were, in a few bytes when they were few and in 8 KB when they were millions.
 * Sketches of minutes merge into those of hours, days and years as if all visitors had been added to one.
 *
 * Few visitors are kept one by one (`sketch-sparse.ts`) and counted exactly; many become HyperLogLog registers
 * (`sketch-dense.ts`) with a standard error of 0.8%. The invariant is that a sketch, its form and its bytes depend
 * on the set of hashes alone: not on their order, nor on how often each came, nor on what was merged with what.
 * So replaying a log gives the same bytes, and merging is commutative, associative and idempotent.
 *
 *     1 byte form and version | the form's own bytes | 1 byte check
 */
import { invariant } from '../base/errors.ts';
import { BrokenSketch } from './broken-sketch.ts';
import { Registers } from './sketch-dense.ts';
import { estimateVisitors } from './sketch-estimate.ts';
import { TokenSet, tokensMax } from './sketch-sparse.ts';
import { tokenOf } from './sketch-token.ts';

/** The version is in the upper half of the byte. */
const forms = { sparse: 0x11, dense: 0x12 } as const;

/**
 * Up to here the estimate is the exact number. From here to the end of the sparse form it turns gradually into
 * what the registers will say, so that a chart has no jump where a sketch becomes dense.
 */
const exactMax = tokensMax / 2;

export class Sketch {
  #kept: TokenSet | Registers = new TokenSet();

  /** Reads what `toBytes` wrote; throws `BrokenSketch` for anything else. */
  static from(bytes: Uint8Array): Sketch {
    if (bytes.length < 2) throw new BrokenSketch('they are too few');
    const end = bytes.length - 1;
    if (bytes[end] !== checkOf(bytes, end)) throw new BrokenSketch('the check byte does not agree');
    const sketch = new Sketch();
    sketch.#kept = readForm(bytes[0]!, bytes.subarray(1, end));
    return sketch;
  }

  get isEmpty(): boolean {
    return this.#kept instanceof TokenSet && this.#kept.size === 0;
  }

  /** Adds a visitor by the halves of a 64-bit hash, whose bits must be as good as random. */
  add(high: number, low: number): void {
    this.#addToken(tokenOf(high, low));
  }

  /** Adds a visitor by the 16 hex digits of a 64-bit hash. */
  addHex(hash: string): void {
    invariant(/^[0-9a-f]{16}$/i.test(hash), 'a visitor hash has 16 hex digits');
    this.add(Number.parseInt(hash.slice(0, 8), 16), Number.parseInt(hash.slice(8), 16));
  }

  /** Adds all visitors of another sketch, which stays as it is. */
  merge(other: Sketch): void {
    const theirs = other.#kept;
    if (theirs instanceof TokenSet) {
      for (const token of theirs.tokens()) this.#addToken(token);
    } else if (this.#kept instanceof TokenSet) {
      const ours = this.#kept.tokens();
      this.#kept = theirs.copy();
      for (const token of ours) this.#kept.add(token);
    } else {
      this.#kept.merge(theirs);
    }
  }

  /** The number of different visitors, rounded to a whole one. */
  estimate(): number {
    const kept = this.#kept;
    if (kept instanceof Registers) return Math.round(estimateVisitors(kept.histogram()));
    if (kept.size <= exactMax) return kept.size;
    const byRegisters = estimateVisitors(Registers.of(kept.tokens()).histogram());
    const weight = (kept.size - exactMax) / (tokensMax - exactMax);
    return Math.round(kept.size + (byRegisters - kept.size) * weight);
  }

  toBytes(): Uint8Array {
    const form = this.#kept instanceof TokenSet ? forms.sparse : forms.dense;
    const content = this.#kept.toBytes();
    const bytes = new Uint8Array(content.length + 2);
    bytes[0] = form;
    bytes.set(content, 1);
    bytes[bytes.length - 1] = checkOf(bytes, bytes.length - 1);
    return bytes;
  }

  #addToken(token: number): void {
    const kept = this.#kept;
    if (kept instanceof Registers) {
      kept.add(token);
    } else {
      kept.add(token);
      if (kept.size > tokensMax) this.#kept = Registers.of(kept.tokens());
    }
  }
}

function readForm(form: number, content: Uint8Array): TokenSet | Registers {
  if (form === forms.sparse) return TokenSet.from(content);
  if (form === forms.dense) return Registers.from(content);
  throw new BrokenSketch('their form or version is unknown');
}

/**
 * A sum in which each byte has an odd weight by its place. An odd factor loses nothing modulo 256, so a change of
 * any one byte always shows; most others do, too.
 */
function checkOf(bytes: Uint8Array, end: number): number {
  let sum = 0;
  for (let index = 0; index < end; index += 1) sum = (sum + Math.imul(bytes[index]!, 2 * index + 1)) | 0;
  return sum & 0xff;
}
