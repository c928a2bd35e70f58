/**
 * How many links an account, or an address, has made within the last hour. The hour is kept in twelve parts of five
 * minutes, so a count is at most one part too old. Memory is bounded: when too many are watched, the one that has been
 * quiet for longest is forgotten. It counts what this process sees; several processes each count their share.
 */
import type { Clock } from '../base/clock.ts';

const parts = 12;
const partMs = 5 * 60 * 1_000;

interface Counts {
  readonly perPart: Uint32Array;
  /** The part that was written last; those between it and now are empty. */
  lastPart: number;
}

export class Velocity {
  readonly #clock: Clock;
  readonly #keysMax: number;
  /** In the order of the last use. */
  readonly #counts = new Map<string, Counts>();

  constructor(clock: Clock, keysMax = 50_000) {
    this.#clock = clock;
    this.#keysMax = keysMax;
  }

  get size(): number {
    return this.#counts.size;
  }

  /** Notes one link and says how many there have been within the hour, this one included. */
  note(key: string): number {
    const part = Math.floor(this.#clock.monotonicMs() / partMs);
    const counts = this.#counts.get(key) ?? { perPart: new Uint32Array(parts), lastPart: part };
    const emptied = Math.min(parts, part - counts.lastPart);
    for (let back = 0; back < emptied; back += 1) counts.perPart[(part - back) % parts] = 0;
    counts.lastPart = part;
    counts.perPart[part % parts]! += 1;
    this.#counts.delete(key);
    this.#counts.set(key, counts);
    if (this.#counts.size > this.#keysMax) this.#counts.delete(this.#counts.keys().next().value!);
    return counts.perPart.reduce((sum, count) => sum + count, 0);
  }
}
