/**
 * How long things took, as counts between fixed bounds. Recording one is a few comparisons and two additions, because
 * it happens for every redirect; what Prometheus needs is computed at scrape time.
 *
 * The bounds are the same everywhere and in every version: histograms of several processes can only be added up, and
 * compared over time, when they are. They lie closest where promises are made (10, 30, 50, 100 and 200 ms); the first
 * holds what was answered from memory.
 */

import type { Clock } from '../base/clock.ts';
import type { Sample } from './metrics.ts';

export const boundsSeconds = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 1, 2.5, 5, 10,
] as const;

const boundsMs = boundsSeconds.map(seconds => seconds * 1_000);

export class Histogram {
  /** One more than there are bounds: what lies beyond the last is counted too. */
  readonly #counts = new Float64Array(boundsMs.length + 1);
  #sumMs = 0;

  note(milliseconds: number): void {
    let place = 0;
    while (place < boundsMs.length && milliseconds > boundsMs[place]!) place += 1;
    this.#counts[place]! += 1;
    this.#sumMs += milliseconds;
  }

  get count(): number {
    return this.#counts.reduce((sum, count) => sum + count, 0);
  }

  get sumSeconds(): number {
    return this.#sumMs / 1_000;
  }

  /** For each bound how many lie at or below it, as Prometheus counts. */
  buckets(): Sample[] {
    let below = 0;
    return Array.from(this.#counts, (count, place) => {
      below += count;
      return { labels: { le: boundsSeconds[place] ?? '+Inf' }, value: below };
    });
  }
}

/**
 * How late this process runs its timers. A request waits about as long in the socket before it is read, which no clock
 * inside the handler can see: under overload, or behind a long piece of work, this is where time goes.
 */
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
