/**
 * What is remembered of those who make links: how many they made within the last hour, and from which country they
 * usually do. Memory is bounded, counts what this process sees, and is lost at its end.
 */
import type { Clock } from '../base/clock.ts';

const parts = 12;
const partMs = 5 * 60 * 1_000;

interface Counts {
  readonly perPart: Uint32Array;
  /** The part that was written last; those between it and now are empty. */
  lastPart: number;
}

/** How many links an account, or an address, has made within the last hour, kept in twelve parts of five minutes. */
export class Velocity {
  readonly #clock: Clock;
  readonly #keysMax: number;
  /** Least recently used first. */
  readonly #counts = new Map<string, Counts>();

  constructor(clock: Clock, keysMax = 50_000) {
    this.#clock = clock;
    this.#keysMax = keysMax;
  }

  get size(): number {
    return this.#counts.size;
  }

  /** Counts one link and returns how many there have been within the hour, this one included. */
  note(key: string): number {
    const part = Math.floor(this.#clock.monotonicMs() / partMs);
    const counts = this.#counts.get(key) ?? { perPart: new Uint32Array(parts), lastPart: part };
    const emptied = Math.min(parts, part - counts.lastPart);
    for (let back = 0; back < emptied; back += 1) counts.perPart[(part - back) % parts] = 0;
    counts.lastPart = part;
    counts.perPart[part % parts]! += 1;
    this.#counts.delete(key);
    this.#counts.set(key, counts);
    if (this.#counts.size > this.#keysMax) this.#counts.delete(this.#counts.keys().next().value!);
    return counts.perPart.reduce((sum, count) => sum + count, 0);
  }
}

interface Seen {
  usual: string;
  /** How far the usual country is ahead of all others together. */
  lead: number;
}

const leadMin = 5;
const leadMax = 100;

/**
 * Where each account usually makes its links from: a country of at least five links and of most of its links. Anonymous
 * clients have none. It is a hint worth ten points, not a record of anyone's travels.
 */
export class UsualCountries {
  readonly #accountsMax: number;
  readonly #seen = new Map<string, Seen>();

  constructor(accountsMax = 50_000) {
    this.#accountsMax = accountsMax;
  }

  get size(): number {
    return this.#seen.size;
  }

  /** The usual country before this link, if there is one; then the link counts too. */
  note(accountId: string, country: string): string | undefined {
    const seen = this.#seen.get(accountId) ?? { usual: country, lead: 0 };
    const usual = seen.lead >= leadMin ? seen.usual : undefined;
    if (seen.usual === country) seen.lead = Math.min(leadMax, seen.lead + 1);
    else if (seen.lead > 0) seen.lead -= 1;
    else [seen.usual, seen.lead] = [country, 1];
    this.#seen.delete(accountId);
    this.#seen.set(accountId, seen);
    if (this.#seen.size > this.#accountsMax) this.#seen.delete(this.#seen.keys().next().value!);
    return usual;
  }
}
