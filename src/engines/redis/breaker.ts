/**
 * Decides when a server counts as away, from how its calls end: a few failures in a row, or a good share of the recent
 * calls. Calls that waited at the same time fail together when a server pauses for a moment, and are one failure in a
 * row. Going back to it is decided by a probe; each return that soon proves premature makes the wait for the next probe
 * twice as long, so that a flapping server is not tried by every visitor.
 */
import type { Clock } from '../../base/clock.ts';

const failuresInRowMax = 3;
/** The share is taken over calls of this long, and says nothing about fewer than so many. */
const windowMs = 1_000;
const windowCallsMin = 20;
const failureShareMax = 0.25;
const probeAfterMs = 200;
const probeAfterMaxMs = 3_200;
/** Staying well for this long makes up for the past. */
const soundAfterMs = 10_000;

export class Breaker {
  readonly #clock: Clock;
  #isOpen = true;
  #failuresInRow = 0;
  #failedAtMs = Number.NEGATIVE_INFINITY;
  #windowStartedMs = 0;
  #windowCalls = 0;
  #windowFailures = 0;
  #closedAtMs = Number.NEGATIVE_INFINITY;
  #probeAfterMs = probeAfterMs;

  /** Open at first: a server that was never heard of is away. */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** How long to leave the server alone before it is probed again. */
  get waitMs(): number {
    return this.#probeAfterMs;
  }

  succeeded(): void {
    this.#failuresInRow = 0;
    this.#count(0);
  }

  /** True when this failure, of a call that began then, is the one that opens it. */
  failed(startedMs: number): boolean {
    if (this.#isOpen) return false;
    if (startedMs >= this.#failedAtMs) {
      this.#failuresInRow += 1;
      this.#failedAtMs = this.#clock.monotonicMs();
    }
    this.#count(1);
    const isBadShare =
      this.#windowCalls >= windowCallsMin && this.#windowFailures >= this.#windowCalls * failureShareMax;
    if (this.#failuresInRow < failuresInRowMax && !isBadShare) return false;
    this.open();
    return true;
  }

  open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    const wasSound = this.#clock.monotonicMs() - this.#closedAtMs >= soundAfterMs;
    this.#probeAfterMs = wasSound ? probeAfterMs : Math.min(this.#probeAfterMs * 2, probeAfterMaxMs);
  }

  close(): void {
    this.#isOpen = false;
    this.#failuresInRow = 0;
    this.#windowCalls = 0;
    this.#windowFailures = 0;
    this.#windowStartedMs = this.#closedAtMs = this.#clock.monotonicMs();
  }

  #count(failures: number): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#windowStartedMs >= windowMs) {
      this.#windowStartedMs = nowMs;
      this.#windowCalls = 0;
      this.#windowFailures = 0;
    }
    this.#windowCalls += 1;
    this.#windowFailures += failures;
  }
}
