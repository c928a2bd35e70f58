/**
 * How late this process comes to what is due. A request waits about as long in the socket before anybody reads it, which
 * no clock inside the handler can see: under overload, or behind a long piece of work, this is where time goes.
 */
import type { Clock } from '../base/clock.ts';
import { Histogram } from './histogram.ts';

export interface LoopDelay {
  readonly delays: Histogram;
  stop(): void;
}

const periodMs = 100;

export function watchLoopDelay(clock: Clock): LoopDelay {
  const delays = new Histogram();
  let dueMs = clock.monotonicMs() + periodMs;
  const stop = clock.every(periodMs, () => {
    const nowMs = clock.monotonicMs();
    delays.note(Math.max(0, nowMs - dueMs));
    dueMs = nowMs + periodMs;
  });
  return { delays, stop };
}
