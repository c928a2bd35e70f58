/** Growing pauses after failures: how long each is, and a loop that works until it is stopped and pauses in between. */
import type { Clock } from './clock.ts';
import type { Random } from './random.ts';

export interface BackoffRange {
  readonly minMs: number;
  readonly maxMs: number;
}

/**
 * The pause after so many failures in a row, from 1 on: doubles up to a bound. With `random` it is between half of
 * that and all of it, so that processes that lost a server together do not return together.
 */
export function backoffMs(failures: number, { minMs, maxMs }: BackoffRange, random?: Random): number {
  const pauseMs = Math.min(maxMs, minMs * 2 ** (failures - 1));
  return random === undefined ? pauseMs : pauseMs * (0.5 + random.float() / 2);
}

const loopRange: BackoffRange = { minMs: 100, maxMs: 5_000 };

export class Backoff {
  readonly #clock: Clock;
  /** End the current pauses. Racing with one long-lived promise instead would leak memory with every pause. */
  readonly #wakers = new Set<() => void>();
  #failures = 0;
  isOver = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async for(ms: number): Promise<void> {
    if (this.isOver) return;
    await new Promise<void>(resolve => {
      const wake = (): void => {
        cancel();
        this.#wakers.delete(wake);
        resolve();
      };
      const cancel = this.#clock.after(ms, wake);
      this.#wakers.add(wake);
    });
  }

  async afterFailure(): Promise<void> {
    this.#failures += 1;
    await this.for(backoffMs(this.#failures, loopRange));
  }

  /** Something succeeded: the next pause is short again. */
  reset(): void {
    this.#failures = 0;
  }

  end(): void {
    this.isOver = true;
    for (const wake of [...this.#wakers]) wake();
  }
}
