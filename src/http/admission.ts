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
const intervalMs = 200;
/** So few requests cannot be the cause of slow answers. */
const limitMin = 256;
const decreaseFactor = 0.7;
const increaseFactor = 1.3;

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
    this.#endsAtMs = clock.monotonicMs() + intervalMs;
  }

  get limit(): number {
    return this.#limit;
  }

  /** Throws when one more request would exceed the limit, in total or of this network. */
  begin(network: Network): Admitted {
    if (this.#inFlight >= this.#limit) throw overloaded('Too many requests are in progress.');
    if (this.#places.crowdOf(network, this.#limit) !== undefined)
      throw overloaded('Too many requests from your network are in progress.');
    const admitted = new RequestInProgress(this, this.#clock);
    this.#places.add(admitted, network);
    admitted.resume();
    return admitted;
  }

  /** Called when a request starts or stops taking a slot. */
  count(change: 1 | -1): void {
    this.#inFlight += change;
    if (this.#inFlight > this.#most) this.#most = this.#inFlight;
  }

  /** A request has ended; `tookMs` is undefined for one that was rejected. */
  release(admitted: Admitted, tookMs: number | undefined): void {
    this.#places.remove(admitted);
    if (tookMs !== undefined) this.#note(tookMs, this.#clock.monotonicMs());
  }

  #note(tookMs: number, nowMs: number): void {
    this.#quickestMs = Math.min(this.#quickestMs, tookMs);
    if (nowMs < this.#endsAtMs) return;
    if (this.#quickestMs > slowMs) {
      // Start from the actual number: a limit far above it would take many intervals to come down.
      this.#limit = Math.max(
        Math.min(limitMin, this.#inFlightMax),
        Math.min(this.#limit, this.#most) * decreaseFactor,
      );
    } else this.#limit = Math.min(this.#inFlightMax, this.#limit * increaseFactor);
    this.#quickestMs = Number.POSITIVE_INFINITY;
    this.#most = 0;
    this.#endsAtMs = nowMs + intervalMs;
  }
}

class RequestInProgress implements Admitted {
  readonly #admission: Admission;
  readonly #clock: Clock;
  /** Undefined while the request waits for its client, and after its end. */
  #startedMs: number | undefined;
  #spentMs = 0;
  #hasEnded = false;

  constructor(admission: Admission, clock: Clock) {
    this.#admission = admission;
    this.#clock = clock;
  }

  pause(): void {
    if (this.#startedMs === undefined) return;
    this.#spentMs += this.#clock.monotonicMs() - this.#startedMs;
    this.#startedMs = undefined;
    this.#admission.count(-1);
  }

  resume(): void {
    if (this.#startedMs !== undefined || this.#hasEnded) return;
    this.#startedMs = this.#clock.monotonicMs();
    this.#admission.count(1);
  }

  end(wasServed: boolean): void {
    if (this.#hasEnded) return;
    this.pause();
    this.#hasEnded = true;
    this.#admission.release(this, wasServed ? this.#spentMs : undefined);
  }
}

const overloaded = (detail: string): Problem =>
  new Problem('overloaded', { detail, headers: { 'Retry-After': '1' } });
