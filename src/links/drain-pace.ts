/**
 * How fast links go from the queue into the store: a steady number per second, and after a pause as many at once as one
 * second would have let through. With work waiting, enough is saved up for a batch before any of it is spent, because a
 * store takes twenty links in one write about as quickly as one.
 */
import type { Clock } from '../base/clock.ts';

const batchMs = 100;
const secondMs = 1_000;

export class DrainPace {
  readonly #clock: Clock;
  readonly #perS: number;
  #saved: number;
  #savedAtMs: number;

  constructor(clock: Clock, perS: number) {
    this.#clock = clock;
    this.#perS = perS;
    this.#saved = perS;
    this.#savedAtMs = clock.monotonicMs();
  }

  /** How many may go now; 0 while less than a batch is saved up. */
  get allowed(): number {
    this.#save();
    return this.#saved < this.#batch ? 0 : Math.floor(this.#saved);
  }

  /** Until that is more than 0. */
  get waitMs(): number {
    this.#save();
    return Math.max(0, Math.ceil(((this.#batch - this.#saved) / this.#perS) * secondMs));
  }

  spend(count: number): void {
    this.#save();
    this.#saved -= count;
  }

  get #batch(): number {
    return Math.max(1, (this.#perS * batchMs) / secondMs);
  }

  #save(): void {
    const nowMs = this.#clock.monotonicMs();
    this.#saved = Math.min(this.#perS, this.#saved + ((nowMs - this.#savedAtMs) / secondMs) * this.#perS);
    this.#savedAtMs = nowMs;
  }
}
