/**
 * Every change is told twice, by a message and by the store's feed, in either order. This finds the pairs, so that a
 * change that the feed alone told of stands out: whoever made it died or was cut off before it could say so.
 */
import type { Clock } from '../base/clock.ts';

export type Teller = 'message' | 'feed';

interface Unpaired {
  /** How often the message was ahead of the feed; below zero, how often it was behind. */
  readonly lead: number;
  readonly atMs: number;
}

/** A partner that has not come by then does not come. Short, because a stray message would stand for a later change. */
const patienceMs = 5_000;
const codesMax = 20_000;

export class ToldTwice {
  readonly #clock: Clock;
  readonly #unpaired = new Map<string, Unpaired>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** True when the other teller had told of this change before. */
  tell(code: string, teller: Teller): boolean {
    const nowMs = this.#clock.monotonicMs();
    this.#forgetOld(nowMs);
    const before = this.#unpaired.get(code)?.lead ?? 0;
    const lead = before + (teller === 'message' ? 1 : -1);
    this.#unpaired.delete(code);
    if (lead !== 0) this.#unpaired.set(code, { lead, atMs: nowMs });
    return Math.abs(lead) < Math.abs(before);
  }

  #forgetOld(nowMs: number): void {
    for (const [code, { atMs }] of this.#unpaired) {
      if (nowMs - atMs < patienceMs && this.#unpaired.size <= codesMax) return;
      this.#unpaired.delete(code);
    }
  }
}
