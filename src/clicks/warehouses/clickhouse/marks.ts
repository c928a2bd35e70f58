/** Of which links clicks before which time do not count, as far as a process has learnt: never forgotten again, and few. */
import type { Mark } from './deletions.ts';

/** Marks are looked for from this long before the newest known: the clocks of those who set them differ. */
const overlapMs = 60_000;

/** A row of the answer to `newerText`. */
export interface MarkRow {
  readonly what: 'forgotten';
  readonly name: string;
  readonly value: number;
  readonly noted: number;
}

export class Marks {
  readonly #times = new Map<string, number>();
  /** The same, in the order in which they were learnt. */
  readonly #learnt: Mark[] = [];
  #notedMs = 0;

  /** How many were learnt so far. */
  get count(): number {
    return this.#learnt.length;
  }

  /** Those that were learnt after the first so many. */
  after(count: number): readonly Mark[] {
    return this.#learnt.slice(count);
  }

  forgottenBefore(code: string): number {
    return this.#times.get(code) ?? 0;
  }

  /** Asks for all that may not be known yet. */
  newerText(): string {
    return `
      SELECT 'forgotten' AS what, code AS name, max(at_ms) AS value, toUnixTimestamp64Milli(max(marks.noted)) AS noted
      FROM forgotten AS marks
      WHERE marks.noted >= fromUnixTimestamp64Milli(${this.#notedMs - overlapMs}) GROUP BY code`;
  }

  note({ name: code, value: at, noted }: Omit<MarkRow, 'what'>): void {
    this.#notedMs = Math.max(this.#notedMs, noted);
    if (at <= this.forgottenBefore(code)) return;
    this.#times.set(code, at);
    this.#learnt.push({ code, at });
  }
}
