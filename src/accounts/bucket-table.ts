/**
 * Buckets in the memory of one process, for whoever cannot wait for an answer. A bucket that is full again is
 * forgotten, which changes nothing. Should there be more than fit, the one that would be full soonest goes: its
 * holder gains the least by it.
 * Invariant: never more than `entriesMax` buckets, and every call costs the same however many there are.
 */
import { type BucketLevel, fullAt, takeFromAll } from './bucket.ts';
import type { LimitDecision, Spending } from './rate-limit.ts';

interface Entry {
  readonly level: BucketLevel;
  readonly fullAt: number;
}

/** Looked at whenever a bucket is added, in turn: enough that full ones go faster than new ones come. */
const examinedPerEntry = 4;

export class BucketTable {
  readonly #entriesMax: number;
  readonly #entries = new Map<string, Entry>();
  /** Where the search for full buckets has come to. */
  #round = this.#entries.entries();

  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax;
  }

  get size(): number {
    return this.#entries.size;
  }

  take(spendings: readonly Spending[], now: number): LimitDecision {
    const kept = spendings.map(({ key }) => this.#entries.get(key)?.level);
    const { decision, after } = takeFromAll(spendings, kept, now);
    after?.forEach((level, index) => {
      const { key, rate } = spendings[index]!;
      if (!this.#entries.has(key)) this.#makeRoom(now);
      this.#entries.set(key, { level, fullAt: fullAt(level, rate) });
    });
    return decision;
  }

  /** How long `take` would have to wait, without taking anything. */
  waitMs(spendings: readonly Spending[], now: number): number {
    const kept = spendings.map(({ key }) => this.#entries.get(key)?.level);
    return takeFromAll(spendings, kept, now).decision.retryAfterMs;
  }

  #makeRoom(now: number): void {
    let soonest: { readonly key: string; readonly fullAt: number } | undefined;
    for (let examined = 0; examined < examinedPerEntry; examined += 1) {
      const [key, entry] = this.#next() ?? [];
      if (key === undefined || entry === undefined) break;
      if (entry.fullAt <= now) this.#entries.delete(key);
      else if (soonest === undefined || entry.fullAt < soonest.fullAt)
        soonest = { key, fullAt: entry.fullAt };
    }
    if (this.#entries.size >= this.#entriesMax && soonest !== undefined) this.#entries.delete(soonest.key);
  }

  /** Goes round and round. Beginning at the front each time would step over all that was ever deleted there. */
  #next(): readonly [string, Entry] | undefined {
    const { done, value } = this.#round.next();
    if (!done) return value;
    this.#round = this.#entries.entries();
    return this.#round.next().value;
  }
}
