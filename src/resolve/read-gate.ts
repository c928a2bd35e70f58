/**
 * Lets a bounded number of reads through to the store at a time; a bounded number of others waits its turn for a bounded
 * time, and everyone else is told at once that the server is busy. So a store that suddenly has to answer for the cache
 * is worked hard, but not to death.
 */
import type { Clock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';

export interface ReadGateOptions {
  readonly clock: Clock;
  readonly readsMax?: number;
  readonly waitingMax?: number;
  readonly waitMaxMs?: number;
}

const readsMaxDefault = 64;
const waitingMaxDefault = 1_024;
const waitMaxMsDefault = 1_000;

export class ReadGate {
  readonly #clock: Clock;
  readonly #readsMax: number;
  readonly #waitingMax: number;
  readonly #waitMaxMs: number;
  /** In the order of their coming. */
  readonly #waiting = new Set<() => void>();
  reading = 0;
  /** How many had to wait, and how many were sent away. */
  waits = 0;
  refusals = 0;

  constructor(options: ReadGateOptions) {
    this.#clock = options.clock;
    this.#readsMax = options.readsMax ?? readsMaxDefault;
    this.#waitingMax = options.waitingMax ?? waitingMaxDefault;
    this.#waitMaxMs = options.waitMaxMs ?? waitMaxMsDefault;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Whether a read could begin at once. */
  get isFree(): boolean {
    return this.reading < this.#readsMax;
  }

  async through<T>(read: () => Promise<T>): Promise<T> {
    if (this.isFree) this.reading += 1;
    else await this.#turn();
    try {
      return await read();
    } finally {
      this.#leave();
    }
  }

  #turn(): Promise<void> {
    if (this.#waiting.size >= this.#waitingMax) return Promise.reject(this.#busy());
    this.waits += 1;
    return new Promise((resolve, reject) => {
      const enter = (): void => {
        cancel();
        resolve();
      };
      const cancel = this.#clock.after(this.#waitMaxMs, () => {
        this.#waiting.delete(enter);
        reject(this.#busy());
      });
      this.#waiting.add(enter);
    });
  }

  /** Hands the place on to whoever has waited longest. */
  #leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.reading -= 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }

  #busy(): Problem {
    this.refusals += 1;
    return new Problem('overloaded', {
      detail: 'Too many links are being looked up; try again in a moment.',
    });
  }
}
