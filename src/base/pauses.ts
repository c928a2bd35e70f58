/**
 * The pauses of a loop that works until it is told to end: each is cut short by the end, and those after failures grow
 * while nothing works.
 */
import type { Clock } from './clock.ts';

const failurePauseMinMs = 100;
const failurePauseMaxMs = 5_000;

export class Pauses {
  readonly #clock: Clock;
  readonly #ended = Promise.withResolvers<void>();
  #failurePauseMs = failurePauseMinMs;
  isOver = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async for(ms: number): Promise<void> {
    if (this.isOver) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#clock.after(ms, resolve);
    await Promise.race([promise, this.#ended.promise]);
    cancel();
  }

  async afterFailure(): Promise<void> {
    const ms = this.#failurePauseMs;
    this.#failurePauseMs = Math.min(failurePauseMaxMs, ms * 2);
    await this.for(ms);
  }

  /** Something worked: the next failure is the first. */
  reset(): void {
    this.#failurePauseMs = failurePauseMinMs;
  }

  end(): void {
    this.isOver = true;
    this.#ended.resolve();
  }
}
