/**
 * What a server said about prefixes, for as long as it said. Both kinds of answer are kept: which full hashes are
 * behind a prefix, and that nothing else is, without which one innocent site that shares a prefix with a bad one
 * would be asked about again and again.
 * Invariant: nothing is believed past its time, and the cache has a bound; beyond it the oldest answers go.
 */
import type { HashAnswer, Threat } from './api.ts';
import { durationMaxMs } from './limits.ts';
import { firstFour } from './prefix-list.ts';

interface Entry {
  readonly nothingElseUntil: number;
  readonly found: ReadonlyMap<string, { readonly threat: Threat; readonly until: number }>;
}

/** Undefined when the server has to be asked. */
export type CachedVerdict = { readonly threat: Threat | undefined } | undefined;

export class HashCache {
  readonly #entriesMax: number;
  readonly #entries = new Map<number, Entry>();

  constructor(entriesMax = 20_000) {
    this.#entriesMax = entriesMax;
  }

  get size(): number {
    return this.#entries.size;
  }

  look(hash: Uint8Array, now: number): CachedVerdict {
    const prefix = firstFour(hash);
    const entry = this.#entries.get(prefix);
    if (entry === undefined) return undefined;
    const found = entry.found.get(keyOf(hash));
    if (found !== undefined && now < found.until) return { threat: found.threat };
    // Something was found and its time is over: only the server knows what has become of it.
    if (found === undefined && now < entry.nothingElseUntil) return { threat: undefined };
    const lastUntil = Math.max(
      entry.nothingElseUntil,
      ...[...entry.found.values()].map(({ until }) => until),
    );
    if (now >= lastUntil) this.#entries.delete(prefix);
    return undefined;
  }

  /** Keeps the answer for each of the prefixes that were asked about. */
  keep(prefixes: readonly Uint8Array[], answer: HashAnswer, now: number): void {
    for (const bytes of prefixes) {
      const prefix = firstFour(bytes);
      const found = answer.found
        .filter(({ hash }) => firstFour(hash) === prefix)
        .map(({ hash, threat, cacheMs }) => [keyOf(hash), { threat, until: untilOf(cacheMs, now) }] as const);
      // Set anew, so that it is the youngest.
      this.#entries.delete(prefix);
      this.#entries.set(prefix, {
        nothingElseUntil: untilOf(answer.cacheMs, now),
        // The first of several threats of one hash is the one that is told.
        found: new Map(found.reverse()),
      });
    }
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#entriesMax) break;
      this.#entries.delete(oldest);
    }
  }
}

const keyOf = (hash: Uint8Array): string => Buffer.from(hash).toString('latin1');

const untilOf = (cacheMs: number, now: number): number => now + Math.min(cacheMs, durationMaxMs);
