/**
 * Purges every changed link from one edge. The store's feed is the queue: it has each change from the transaction that
 * made it, so a crash at any moment loses no purge, and an edge that is down costs neither memory nor order. What is
 * held here is bounded, and the position up to which everything is purged is kept on disk.
 *
 * Every code is purged twice: at once, so that a takedown is quick, and again a little later, because a process that
 * had not yet learned of the change may have filled the edge with the old response meanwhile. Only then does the
 * position move on.
 *
 * Invariant: when it is unknown what was missed (no position, or the feed no longer reaches back to it), everything is
 * purged from the edge.
 */

import { Backoff } from '../base/backoff.ts';
import type { CheckpointFile } from '../base/checkpoint-file.ts';
import type { Clock } from '../base/clock.ts';
import { inParallel } from '../base/in-parallel.ts';
import type { LinkStore } from '../links/store.ts';
import { PurgeFailed, type Purger } from './purger.ts';

export interface PurgeFeedOptions {
  readonly purger: Purger;
  readonly store: Pick<LinkStore, 'changes' | 'find' | 'changeToken'>;
  /** The entry of the feed up to which everything is purged. */
  readonly position: CheckpointFile;
  readonly clock: Clock;
  readonly onProblem: (what: string, error: unknown) => void;
}

export interface PurgeFigures {
  /** Codes purged from the edge, each change once. */
  readonly purged: number;
  /** Number of purges of everything. */
  readonly emptied: number;
  readonly failures: number;
  /** How long the oldest known change has been waiting to be purged. */
  readonly behindMs: number;
}

/** Codes to purge a second time, and the position that is done once they are. */
interface Repeat {
  readonly dueMs: number;
  readonly codes: readonly string[];
  readonly isAll: boolean;
  readonly resumeSeq: number;
}

/** How often the feed is read: polling a file costs next to nothing. */
const pollMs = { embedded: 20, elsewhere: 100 } as const;
/** Longer than any process takes to learn of a change, and than a response is in flight. */
export const settleMs = 5_000;
const pageMax = 500;
/** Codes that wait for their second purge; past it the feed is not read until some are done. */
const heldMax = 20_000;
const findsAtOnce = 8;
/** The first failure is logged at once; while it lasts, one per this period. */
const logPeriodMs = 60_000;
const firstVersion = 1;

export class PurgeFeed {
  readonly #options: PurgeFeedOptions;
  readonly #pauses: Backoff;
  readonly #repeats: Repeat[] = [];
  /** Entries past the cursor that were purged already: a feed returns them again while an earlier one is missing. */
  readonly #purgedSeqs = new Set<number>();
  #cursor = 0;
  #mustPurgeAll = false;
  #held = 0;
  #behindSinceMs: number | undefined;
  #loggedMs = Number.NEGATIVE_INFINITY;
  #purged = 0;
  #emptied = 0;
  #failures = 0;
  #running: Promise<void> | undefined;

  constructor(options: PurgeFeedOptions) {
    this.#options = options;
    this.#pauses = new Backoff(options.clock);
  }

  get figures(): PurgeFigures {
    const sinceMs = this.#behindSinceMs;
    return {
      purged: this.#purged,
      emptied: this.#emptied,
      failures: this.#failures,
      behindMs: sinceMs === undefined ? 0 : this.#options.clock.monotonicMs() - sinceMs,
    };
  }

  start(): void {
    const position = this.#options.position.read();
    if (position === undefined) this.#mustPurgeAll = true;
    else this.#cursor = position;
    this.#running = this.#work();
  }

  /** Called when something outside the feed has changed where links lead. */
  purgeAll(): void {
    this.#options.position.forget();
    this.#mustPurgeAll = true;
  }

  /** Ends after the call in flight. The next start does the rest. */
  async stop(): Promise<void> {
    this.#pauses.end();
    await this.#running;
  }

  async #work(): Promise<void> {
    while (!this.#pauses.isOver) {
      try {
        const hasMore = await this.#round();
        this.#pauses.reset();
        this.#loggedMs = Number.NEGATIVE_INFINITY;
        if (!hasMore) await this.#pauses.for(this.#pollMs);
      } catch (error) {
        this.#complain(error);
        await this.#pauses.afterFailure();
      }
    }
  }

  get #pollMs(): number {
    return this.#options.store.changeToken === undefined ? pollMs.elsewhere : pollMs.embedded;
  }

  /** A bounded amount of work; true when there is more. */
  async #round(): Promise<boolean> {
    const { store, clock } = this.#options;
    if (this.#mustPurgeAll) await this.#empty();
    await this.#repeatDue();
    if (this.#held >= heldMax) return false;
    const page = await store.changes(this.#cursor, pageMax);
    // A store that was restored to an earlier time has no such entry yet.
    if (page.gap || page.lastSeq < this.#cursor) {
      this.#mustPurgeAll = true;
      return true;
    }
    const fresh = page.changes.filter(({ seq }) => !this.#purgedSeqs.has(seq));
    const codes = [...new Set(fresh.map(({ code }) => code))];
    if (codes.length > 0) this.#behindSinceMs ??= clock.monotonicMs();
    this.#purged += await this.#purge(codes);
    this.#behindSinceMs = undefined;
    for (const { seq } of fresh) this.#purgedSeqs.add(seq);
    for (const seq of this.#purgedSeqs) if (seq <= page.resumeSeq) this.#purgedSeqs.delete(seq);
    if (codes.length > 0 || page.resumeSeq !== this.#cursor)
      this.#remember({ codes, isAll: false, resumeSeq: page.resumeSeq });
    this.#cursor = page.resumeSeq;
    return fresh.length > 0 && page.changes.length === pageMax;
  }

  async #empty(): Promise<void> {
    const { store, purger, position, clock, onProblem } = this.#options;
    this.#behindSinceMs ??= clock.monotonicMs();
    // Read first: a change that comes meanwhile has a later position, and is purged once more.
    const { resumeSeq } = await store.changes(Number.MAX_SAFE_INTEGER, 1);
    this.#mustPurgeAll = false;
    try {
      await purger.purgeAll?.();
    } catch (error) {
      this.#mustPurgeAll = true;
      throw error;
    }
    this.#repeats.length = 0;
    this.#held = 0;
    this.#purgedSeqs.clear();
    this.#cursor = resumeSeq;
    this.#behindSinceMs = undefined;
    if (purger.purgeAll !== undefined) {
      this.#emptied += 1;
      this.#remember({ codes: [], isAll: true, resumeSeq });
      return;
    }
    // Earlier changes cannot be purged, but no later one may be missed.
    position.write(resumeSeq);
    const advice = new PurgeFailed('what it has of changed links goes when TERSE_EDGE_TTL_S is over');
    onProblem(`the edge ${purger.name} cannot be emptied`, advice);
  }

  #remember(repeat: Omit<Repeat, 'dueMs'>): void {
    this.#repeats.push({ ...repeat, dueMs: this.#options.clock.monotonicMs() + settleMs });
    this.#held += repeat.codes.length;
  }

  async #repeatDue(): Promise<void> {
    const { position, purger, clock } = this.#options;
    for (let [first] = this.#repeats; first !== undefined; [first] = this.#repeats) {
      if (first.dueMs > clock.monotonicMs()) return;
      if (first.isAll) await purger.purgeAll?.();
      else await this.#purge(first.codes);
      // If a purge of everything was requested meanwhile, nothing counts as done.
      if (!this.#mustPurgeAll) position.write(first.resumeSeq);
      this.#repeats.shift();
      this.#held -= first.codes.length;
    }
  }

  /** Returns how many of them had to be purged. */
  async #purge(codes: readonly string[]): Promise<number> {
    const { purger } = this.#options;
    const changed = await this.#changed(codes);
    for (let from = 0; from < changed.length; from += purger.codesMax)
      await purger.purge(changed.slice(from, from + purger.codesMax));
    return changed.length;
  }

  /** Leaves out links in their first version: they are in the feed because they are new, and never led elsewhere. */
  async #changed(codes: readonly string[]): Promise<string[]> {
    const isChanged: boolean[] = [];
    await inParallel(codes.length, findsAtOnce, async index => {
      const link = await this.#options.store.find(codes[index]!);
      isChanged[index] = link === undefined || link.version > firstVersion;
    });
    return codes.filter((_, index) => isChanged[index]);
  }

  #complain(error: unknown): void {
    const { purger, clock, onProblem } = this.#options;
    this.#failures += 1;
    if (clock.monotonicMs() - this.#loggedMs < logPeriodMs) return;
    this.#loggedMs = clock.monotonicMs();
    onProblem(`changes cannot be purged from the edge ${purger.name}`, error);
  }
}
