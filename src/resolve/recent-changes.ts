/**
 * The codes that changed lately, as far as this process has heard, each with when it last did. Bounded in time and
 * number; `completeSinceMs` says since when none was left out.
 */
import type { Clock } from '../base/clock.ts';

const keptMs = 60_000;
const codesMaxDefault = 20_000;

export class RecentChanges {
  readonly #clock: Clock;
  readonly #codesMax: number;
  /** In the order of their times, because a code that is heard again moves to the end. */
  readonly #heardAtMs = new Map<string, number>();
  #completeSinceMs: number;

  constructor(clock: Clock, codesMax = codesMaxDefault) {
    this.#clock = clock;
    this.#codesMax = codesMax;
    this.#completeSinceMs = clock.monotonicMs();
  }

  /** By the monotonic clock. */
  get completeSinceMs(): number {
    return this.#completeSinceMs;
  }

  add(code: string): void {
    this.#heardAtMs.delete(code);
    this.#heardAtMs.set(code, this.#clock.monotonicMs());
    if (this.#heardAtMs.size > this.#codesMax) this.#forgetFirst();
  }

  isHeardWithin(code: string, withinMs: number): boolean {
    const heardAtMs = this.#heardAtMs.get(code);
    return heardAtMs !== undefined && this.#clock.monotonicMs() - heardAtMs < withinMs;
  }

  codes(): IterableIterator<string> {
    return this.#heardAtMs.keys();
  }

  /** Forgets what is old. */
  forgetOld(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const heardAtMs of this.#heardAtMs.values()) {
      if (nowMs - heardAtMs <= keptMs) break;
      this.#forgetFirst();
    }
  }

  #forgetFirst(): void {
    for (const [code, heardAtMs] of this.#heardAtMs) {
      this.#heardAtMs.delete(code);
      this.#completeSinceMs = Math.max(this.#completeSinceMs, heardAtMs);
      break;
    }
  }
}
