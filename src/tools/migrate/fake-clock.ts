/** A clock for tests without waiting: a sleep returns immediately, and the time advances by as much. */
import type { Clock } from '../../base/clock.ts';

export function leapingClock(startMs = Date.UTC(2026, 5, 1)): Clock & { readonly sleptMs: number } {
  let sleptMs = 0;
  return {
    now: () => startMs + sleptMs,
    monotonicMs: () => sleptMs,
    after(delayMs, task) {
      sleptMs += delayMs;
      queueMicrotask(task);
      return () => {};
    },
    every: () => () => {},
    get sleptMs() {
      return sleptMs;
    },
  };
}
