/**
 * How much may be in progress at once, so that whatever is let in is answered while it still matters. When more is
 * asked for than can be done, waiting grows until clients leave, and then all work is for nobody; a client that is
 * rejected at once can come back instead. The limit is found by watching: as long as even the quickest answers of a moment
 * took too long, fewer are let in; when they are quick again, more are. A burst that is soon worked off is let in whole,
 * because it takes a moment of slow answers, not a crowd, to lower the limit.
 *
 * Each kind of work has its own, because one may crawl while another flies, and of each a network has only its share. Only
 * our own time counts: a request that waits for its client's bytes is not in progress. What memory answers never comes
 * here: rejecting it would cost as much as doing it.
 */
import type { Clock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import { AddressPlaces, type Network } from './wire/address-places.ts';

export interface AdmissionOptions {
  /** Never more than this, however quick the answers. */
  readonly inFlightMax: number;
  /** What one host may have of the limit. */
  readonly sharePercent: number;
  readonly clock: Clock;
}

/** A request in progress. */
export interface Admitted {
  /** Its client keeps it waiting: until `resume` it takes no place and no time. */
  pause(): void;
  resume(): void;
  /** `wasServed`: a refusal is quick whatever the others have to wait for, so it says nothing. */
  end(wasServed: boolean): void;
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
  /** Also those that wait for their client: when its bytes come, no network has more than its share in progress. */
  readonly #places: AddressPlaces<Admitted>;
  #inFlight = 0;
  #limit: number;
  #quickestMs = Number.POSITIVE_INFINITY;
  #endsAtMs: number;
  #most = 0;

  constructor({ inFlightMax, sharePercent, clock }: AdmissionOptions) {
    this.#inFlightMax = inFlightMax;
    this.#limit = inFlightMax;
    this.#clock = clock;
    this.#places = new AddressPlaces(sharePercent);
    this.#endsAtMs = clock.monotonicMs() + momentMs;
  }

  get limit(): number {
    return this.#limit;
  }

  /** Throws when one more would be one too many, in all or of this network. */
  begin(network: Network): Admitted {
    if (this.#inFlight >= this.#limit) throw overloaded('Too many requests are in progress.');
    if (this.#places.crowdOf(network, this.#limit) !== undefined)
      throw overloaded('Too many requests from your network are in progress.');
    /** Undefined while it waits for its client, and at the end. */
    let startedMs: number | undefined;
    let spentMs = 0;
    let hasEnded = false;
    const admitted: Admitted = {
      pause: () => {
        if (startedMs === undefined) return;
        spentMs += this.#clock.monotonicMs() - startedMs;
        startedMs = undefined;
        this.#inFlight -= 1;
      },
      resume: () => {
        if (startedMs !== undefined || hasEnded) return;
        startedMs = this.#clock.monotonicMs();
        this.#inFlight += 1;
        if (this.#inFlight > this.#most) this.#most = this.#inFlight;
      },
      end: wasServed => {
        if (hasEnded) return;
        admitted.pause();
        hasEnded = true;
        this.#places.remove(admitted);
        if (wasServed) this.#note(spentMs, this.#clock.monotonicMs());
      },
    };
    this.#places.add(admitted, network);
    admitted.resume();
    return admitted;
  }

  #note(tookMs: number, nowMs: number): void {
    this.#quickestMs = Math.min(this.#quickestMs, tookMs);
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

const overloaded = (detail: string): Problem =>
  new Problem('overloaded', { detail, headers: { 'Retry-After': '1' } });
