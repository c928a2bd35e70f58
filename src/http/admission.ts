/**
 * How much may be in progress at once, so that whoever is let in is answered while it still matters. When more is
 * asked for than can be done, waiting grows until clients leave, and then all work is for nobody; whoever is refused
 * at once can come back instead. The limit is found by watching: as long as even the quickest answers of a moment
 * took too long, fewer are let in; when they are quick again, more are. A burst that is soon worked off is let in whole,
 * because it takes a moment of slow answers, not a crowd, to lower the limit.
 *
 * Each kind of work has its own, because one may crawl while another flies. What memory answers never comes here:
 * refusing it would cost as much as doing it.
 */
import type { Clock } from '../base/clock.ts';

export interface AdmissionOptions {
  /** Never more than this, however quick the answers. */
  readonly inFlightMax: number;
  readonly clock: Clock;
}

/** Far below the patience of any client, far above what a request takes by itself. */
const slowMs = 150;
const momentMs = 200;
/** So few cannot be what makes answers slow. */
const limitMin = 256;
const lessFactor = 0.7;
const moreFactor = 1.3;

export class Admission {
  readonly #inFlightMax: number;
  readonly #clock: Clock;
  #limit: number;
  #quickestMs = Number.POSITIVE_INFINITY;
  #endsAtMs: number;
  #inFlight = 0;
  #most = 0;

  constructor({ inFlightMax, clock }: AdmissionOptions) {
    this.#inFlightMax = inFlightMax;
    this.#limit = inFlightMax;
    this.#clock = clock;
    this.#endsAtMs = clock.monotonicMs() + momentMs;
  }

  get limit(): number {
    return this.#limit;
  }

  /** Whether one more would be one too many. */
  get isFull(): boolean {
    return this.#inFlight >= this.#limit;
  }

  /** To be called when a request begins; what it returns, when it ends, with whether it was let in. */
  begin(): (wasLetIn: boolean) => void {
    const startedMs = this.#clock.monotonicMs();
    this.#inFlight += 1;
    if (this.#inFlight > this.#most) this.#most = this.#inFlight;
    return wasLetIn => {
      this.#inFlight -= 1;
      // A refusal is quick whatever the others have to wait for.
      if (wasLetIn) this.#note(startedMs, this.#clock.monotonicMs());
    };
  }

  #note(startedMs: number, nowMs: number): void {
    this.#quickestMs = Math.min(this.#quickestMs, nowMs - startedMs);
    if (nowMs < this.#endsAtMs) return;
    if (this.#quickestMs > slowMs) {
      // From what there really was: a limit far above it would take many moments to come down to.
      this.#limit = Math.max(
        Math.min(limitMin, this.#inFlightMax),
        Math.min(this.#limit, this.#most) * lessFactor,
      );
    } else this.#limit = Math.min(this.#inFlightMax, this.#limit * moreFactor);
    this.#quickestMs = Number.POSITIVE_INFINITY;
    this.#most = 0;
    this.#endsAtMs = nowMs + momentMs;
  }
}
