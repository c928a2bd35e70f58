/**
 * Runs a target on mutated inputs. An input with a new behaviour joins the inputs that are mutated, so a run gets
 * deeper into the parser. The folder `corpus` keeps such inputs, and every input that has found a bug, both shortened.
 */
import type { Random } from '../../src/base/random.ts';
import { corpusOf } from './corpus-files.ts';
import { type FuzzTarget, fuzzTargets } from './targets.ts';

export const inputMaxBytes = 20_000;
const mutationsMax = 4;
/** Limits the time to shorten a long input. */
const shorteningRunsMax = 2_000;

export class FuzzFailure extends Error {
  readonly target: string;
  readonly bytes: Uint8Array;

  constructor(target: string, bytes: Uint8Array, cause: unknown) {
    const shown = JSON.stringify(Buffer.from(bytes.subarray(0, 2_000)).toString('latin1'));
    super(`${target} with ${shown}: ${cause instanceof Error ? cause.message : cause}`, { cause });
    [this.target, this.bytes] = [target, bytes];
  }
}

export class MutationFuzzer {
  readonly #name: string;
  readonly #target: FuzzTarget;
  readonly #random: Random;
  readonly #onInput: (bytes: Uint8Array) => void;
  readonly #inputs: Uint8Array[] = [];
  /** The observed behaviours, each with its first input. */
  readonly behaviours = new Map<string, Uint8Array>();

  /** `onInput` gets every input before the target does. */
  constructor(name: string, random: Random, onInput: (bytes: Uint8Array) => void = () => {}) {
    const target = fuzzTargets[name];
    if (target === undefined) throw new Error(`no target ${name}; there are ${Object.keys(fuzzTargets)}`);
    [this.#name, this.#target, this.#random, this.#onInput] = [name, target, random, onInput];
  }

  /** Runs the corpus and the inputs to start from. */
  async begin(): Promise<void> {
    const starts = [...this.#target.starts(), ...corpusOf(this.#name).map(({ bytes }) => bytes)];
    for (const bytes of starts) {
      this.#inputs.push(bytes);
      this.behaviours.set(await this.#run(bytes), bytes);
    }
  }

  /** Runs one mutated input; returns its behaviour if that is new. Shortens nothing once `isOver`. */
  async step(isOver: () => boolean = () => false): Promise<string | undefined> {
    const bytes = this.#mutated();
    const behaviour = await this.#run(bytes).catch(async error => {
      const fails = (some: Uint8Array): Promise<boolean> =>
        this.#run(some).then(
          () => false,
          () => true,
        );
      const short = await shortened(bytes, fails, isOver);
      throw new FuzzFailure(this.#name, short, error.cause);
    });
    if (this.behaviours.has(behaviour)) return undefined;
    const behavesSo = async (some: Uint8Array): Promise<boolean> => (await this.#run(some)) === behaviour;
    const short = await shortened(bytes, behavesSo, isOver);
    this.behaviours.set(behaviour, short);
    this.#inputs.push(short);
    return behaviour;
  }

  async #run(bytes: Uint8Array): Promise<string> {
    this.#onInput(bytes);
    try {
      // A copy, because a target may change its bytes.
      return await this.#target.run(Buffer.from(bytes), this.#random);
    } catch (error) {
      throw new FuzzFailure(this.#name, bytes, error);
    }
  }

  #below(limit: number): number {
    return Math.floor(this.#random.float() * limit);
  }

  #mutated(): Uint8Array {
    let bytes = this.#inputs[this.#below(this.#inputs.length)]!;
    const count = 1 + this.#below(mutationsMax);
    for (let mutation = 0; mutation < count; mutation += 1) bytes = this.#mutatedOnce(bytes);
    return bytes.subarray(0, inputMaxBytes);
  }

  #mutatedOnce(bytes: Uint8Array): Uint8Array {
    const at = this.#below(bytes.length + 1);
    const end = Math.min(bytes.length, at + 1 + this.#below(this.#random.float() < 0.8 ? 8 : bytes.length));
    const replaced = (from: number, to: number, insert: Uint8Array): Uint8Array =>
      Buffer.concat([bytes.subarray(0, from), insert, bytes.subarray(to)]);
    const word = this.#target.words[this.#below(this.#target.words.length)]!;
    const other = this.#inputs[this.#below(this.#inputs.length)]!;
    switch (this.#below(7)) {
      case 0:
        return replaced(at, end, new Uint8Array());
      case 1:
        return replaced(at, at, bytes.subarray(at, end));
      case 2:
        return replaced(at, Math.min(bytes.length, at + 1), this.#random.bytes(1));
      case 3:
        return replaced(at, end, word);
      case 4:
        return replaced(at, bytes.length, other.subarray(this.#below(other.length + 1)));
      case 5: {
        const flipped = Uint8Array.of((bytes[at] ?? 0) ^ (1 << this.#below(8)));
        return replaced(at, Math.min(bytes.length, at + 1), flipped);
      }
      default:
        return replaced(at, at, word);
    }
  }
}

/** The input without bytes that the property does not need. */
async function shortened(
  bytes: Uint8Array,
  hasProperty: (bytes: Uint8Array) => Promise<boolean>,
  isOver: () => boolean,
): Promise<Uint8Array> {
  let short = bytes;
  let runs = 0;
  for (let size = short.length >> 1; size > 0; size >>= 1) {
    for (let at = 0; at < short.length && runs < shorteningRunsMax && !isOver(); runs += 1) {
      const fewer = Buffer.concat([short.subarray(0, at), short.subarray(at + size)]);
      if (await hasProperty(fewer)) short = fewer;
      else at += size;
    }
  }
  return short;
}
