/**
 * Limits concurrent reads of the store. A bounded number of other reads waits in a queue for a bounded time, and the
 * rest is rejected at once as busy. So a store that suddenly takes the cache's load runs at its limit without
 * collapsing.
 */
import type { Clock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import { Semaphore, type WaitBound } from '../base/semaphore.ts';

export interface ReadGateOptions {
  readonly clock: Clock;
  readonly readsMax?: number;
  readonly waitingMax?: number;
  readonly waitMaxMs?: number;
  /** While the store is failing, a few reads keep probing it and all others fail at once. */
  readonly isFailing?: () => boolean;
}

const readsMaxDefault = 64;
const waitingMaxDefault = 1_024;
const waitMaxMsDefault = 1_000;
const readsWhileFailingMax = 8;

export class ReadGate {
  readonly #isFailing: () => boolean;
  readonly #slots: Semaphore;
  readonly #bound: WaitBound;
  /** How many reads had to wait, and how many were rejected. */
  waits = 0;
  refusals = 0;

  constructor({ clock, isFailing = () => false, ...limits }: ReadGateOptions) {
    const { readsMax = readsMaxDefault, waitingMax = waitingMaxDefault } = limits;
    const { waitMaxMs = waitMaxMsDefault } = limits;
    this.#isFailing = isFailing;
    this.#slots = new Semaphore({
      slots: () => (isFailing() ? Math.min(readsWhileFailingMax, readsMax) : readsMax),
      waitingMax,
      full: () => this.#busy(),
    });
    this.#bound = {
      arm: giveUp => {
        this.waits += 1;
        return clock.after(waitMaxMs, giveUp);
      },
      late: () => this.#busy(),
    };
  }

  get reading(): number {
    return this.#slots.inUse;
  }

  get waiting(): number {
    return this.#slots.waiting;
  }

  /** Whether the store is failing, so that asking it after the shared cache is of little use. */
  get isFailing(): boolean {
    return this.#isFailing();
  }

  /** Whether a read could start at once. */
  get isFree(): boolean {
    return this.#slots.isFree;
  }

  through<T>(read: () => Promise<T>): Promise<T> {
    if (!this.isFree && this.#isFailing()) return Promise.reject(new Problem('store_unavailable'));
    return this.#slots.run(read, this.#bound);
  }

  #busy(): Problem {
    this.refusals += 1;
    return new Problem('overloaded', {
      detail: 'Too many links are being looked up; try again in a moment.',
    });
  }
}
