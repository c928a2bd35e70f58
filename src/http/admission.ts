/**
 * How many requests may be in progress at once, so that each admitted one is answered while its client still waits.
 * When demand exceeds capacity, queueing grows until clients give up, and then all work is wasted; a client that is
 * rejected at once can retry instead. The limit adapts to measured latency: while even the quickest answers of an
 * interval took too long, it falls; when they are quick again, it rises. A short burst is admitted whole, because only
 * an interval of slow answers lowers the limit, not the number of requests.
 *
 * Each kind of work has its own limit, because one may be slow while another is fast, and each network gets only its
 * share of it. Only the server's own time counts: a request that waits for its client's bytes is not in progress.
 * Requests answered from memory never come here: rejecting one would cost as much as answering it.
 */
import type { Clock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import { AddressPlaces, type Network } from './wire/address-places.ts';

interface AdmissionOptions {
  /** Upper bound of the limit, however quick the answers. */
  readonly inFlightMax: number;
  /** The share of the limit that one host may use. */
  readonly sharePercent: number;
  readonly clock: Clock;
}

/** A request in progress. */
export interface Admitted {
  /** The request waits for its client: until `resume` it takes no slot and its time does not count. */
  pause(): void;
  resume(): void;
  /** `wasServed`: a rejection is quick whatever the load, so its duration is ignored. */
  end(wasServed: boolean): void;
}

/** Far below the timeout of any client, far above what a request takes by itself. */
const slowMs = 150;
const momentMs = 200;
/** This few requests cannot be what makes answers slow. */
const limitMin = 256;
const lessFactor = 0.7;
const moreFactor = 1.3;

export class Admission {
  readonly #inFlightMax: number;
  readonly #clock: Clock;
  /** Includes requests that wait for their client: when its bytes arrive, no network exceeds its share. */
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

  /** Throws when one more request would exceed the limit, in total or of this network. */
  begin(network: Network): Admitted {
    if (this.#inFlight >= this.#limit) throw overloaded('Too many requests are in progress.');
    if (this.#places.crowdOf(network, this.#limit) !== undefined)
      throw overloaded('Too many requests from your network are in progress.');
    /** Undefined while the request waits for its client, and after its end. */
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
      // Start from the actual number: a limit far above it would take many intervals to come down.
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
