/**
 * Numbers strings in order of first sight, so that each crosses to the click thread once. It is bounded in how
 * many it holds and how long each may be; what does not fit counts as the empty string, which is number 0.
 */
import { boundedText } from './steps/bounded-text.ts';

/** Even when nothing can be sent for long, no more than this many of each kind are held. */
export const internedMax = 100_000;

export class Interner {
  readonly #lengthMax: number;
  readonly #entriesMax: number;
  readonly #numbers = new Map<string, number>();
  #fresh: string[] = [];

  constructor(lengthMax: number, entriesMax: number) {
    this.#lengthMax = lengthMax;
    this.#entriesMax = entriesMax;
    this.clear();
  }

  get size(): number {
    return this.#numbers.size;
  }

  numberOf(text: string): number {
    const number = this.#numbers.get(text);
    return number ?? this.#add(text);
  }

  #add(text: string): number {
    const cut = boundedText(text, this.#lengthMax);
    const known = this.#numbers.get(cut);
    if (known !== undefined) return known;
    if (this.#numbers.size >= this.#entriesMax) return 0;
    const number = this.#numbers.size;
    this.#numbers.set(cut, number);
    this.#fresh.push(cut);
    return number;
  }

  takeFresh(): string[] {
    const fresh = this.#fresh;
    this.#fresh = [];
    return fresh;
  }

  clear(): void {
    this.#numbers.clear();
    this.#numbers.set('', 0);
    this.#fresh = [''];
  }
}
