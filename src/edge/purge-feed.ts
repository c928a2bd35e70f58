/**
 * Tells one edge of every change to a link. The store's feed is the queue: it has each change from the transaction that
 * made it, so a crash at any moment loses no purge, and an edge that is away costs neither memory nor order. What is held
 * here is bounded, and the position up to which everything is purged is kept on disk.
 *
 * Every code is purged twice: at once, so that a kill is quick, and again a little later, because a process that had not
 * heard of the change may have filled the edge with the old answer meanwhile. Only then does the position move on.
 *
 * Invariant: when it is not known what was missed (no position, or the feed no longer reaches back to it), the edge is
 * told to forget everything.
 */
import type { Clock } from '../base/clock.ts';
import { inParallel } from '../base/in-parallel.ts';
import { Pauses } from '../base/pauses.ts';
import type { LinkStore } from '../links/store.ts';
import type { KeptNumber } from '../ops/kept-number.ts';
import { PurgeFailed, type Purger } from './purger.ts';

export interface PurgeFeedOptions {
  readonly purger: Purger;
  readonly store: Pick<LinkStore, 'changes' | 'find' | 'changeToken'>;
  /** Up to which entry of the feed everything is purged. */
  readonly position: KeptNumber;
  readonly clock: Clock;
  readonly onProblem: (what: string, error: unknown) => void;
}

export interface PurgeFigures {
  /** Codes that the edge was told to forget, each change once. */
  readonly purged: number;
  /** Times that it was told to forget everything. */
  readonly emptied: number;
  readonly failures: number;
  /** How long the oldest change that was seen has been waiting to be purged. */
  readonly behindMs: number;
}

/** What is purged a second time, and how far everything is done once it is. */
interface Repeat {
  readonly dueMs: number;
  readonly codes: readonly string[];
  readonly isAll: boolean;
  readonly resumeSeq: number;
}

/** How often the feed is read: a file costs next to nothing to ask. */
const pollMs = { embedded: 20, elsewhere: 100 } as const;
/** Longer than any process takes to hear of a change, and than an answer is under way. */
export const settleMs = 5_000;
const pageMax = 500;
/** Codes that wait for their second purge; beyond it the feed is not read on until some are done. */
const heldMax = 20_000;
const findsAtOnce = 8;
/** The first failure is told at once, and while it lasts one in so long. */
const complaintMs = 60_000;
const firstVersion = 1;

export class PurgeFeed {
  readonly #options: PurgeFeedOptions;
  readonly #pauses: Pauses;
  readonly #repeats: Repeat[] = [];
  /** Entries beyond the cursor that were purged already: a feed tells them again while one before them is missing. */
  readonly #told = new Set<number>();
  #cursor = 0;
  #owesAll = false;
  #held = 0;
  #behindSinceMs: number | undefined;
  #complainedMs = Number.NEGATIVE_INFINITY;
  #purged = 0;
  #emptied = 0;
  #failures = 0;
  #running: Promise<void> | undefined;

  constructor(options: PurgeFeedOptions) {
    this.#options = options;
    this.#pauses = new Pauses(options.clock);
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
    if (position === undefined) this.#owesAll = true;
    else this.#cursor = position;
    this.#running = this.#work();
  }

  /** Something that is in no feed has changed what links lead to. */
  purgeAll(): void {
    this.#options.position.forget();
    this.#owesAll = true;
  }

  /** Ends after the call under way. What is left undone is done by the next start. */
  async stop(): Promise<void> {
    this.#pauses.end();
    await this.#running;
  }

  async #work(): Promise<void> {
    while (!this.#pauses.isOver) {
      try {
        const hasMore = await this.#round();
        this.#pauses.reset();
        this.#complainedMs = Number.NEGATIVE_INFINITY;
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

  /** A bounded piece of work; true when there is more. */
  async #round(): Promise<boolean> {
    const { store, clock } = this.#options;
    if (this.#owesAll) await this.#empty();
    await this.#repeatDue();
    if (this.#held >= heldMax) return false;
    const page = await store.changes(this.#cursor, pageMax);
    // A store that was put back to an earlier time has no such entry yet.
    if (page.gap || page.lastSeq < this.#cursor) {
      this.#owesAll = true;
      return true;
    }
    const fresh = page.changes.filter(({ seq }) => !this.#told.has(seq));
    const codes = [...new Set(fresh.map(({ code }) => code))];
    if (codes.length > 0) this.#behindSinceMs ??= clock.monotonicMs();
    this.#purged += await this.#purge(codes);
    this.#behindSinceMs = undefined;
    for (const { seq } of fresh) this.#told.add(seq);
    for (const seq of this.#told) if (seq <= page.resumeSeq) this.#told.delete(seq);
    if (codes.length > 0 || page.resumeSeq !== this.#cursor)
      this.#remember({ codes, isAll: false, resumeSeq: page.resumeSeq });
    this.#cursor = page.resumeSeq;
    return fresh.length > 0 && page.changes.length === pageMax;
  }

  async #empty(): Promise<void> {
    const { store, purger, position, clock, onProblem } = this.#options;
    this.#behindSinceMs ??= clock.monotonicMs();
    // Read first: a change that comes meanwhile is after it, and is purged once more.
    const { resumeSeq } = await store.changes(Number.MAX_SAFE_INTEGER, 1);
    this.#owesAll = false;
    try {
      await purger.purgeAll?.();
    } catch (error) {
      this.#owesAll = true;
      throw error;
    }
    this.#repeats.length = 0;
    this.#held = 0;
    this.#told.clear();
    this.#cursor = resumeSeq;
    this.#behindSinceMs = undefined;
    if (purger.purgeAll !== undefined) {
      this.#emptied += 1;
      this.#remember({ codes: [], isAll: true, resumeSeq });
      return;
    }
    // Nothing can be done about what was before, and nothing of what comes now is to be missed.
    position.write(resumeSeq);
    const advice = new PurgeFailed('what it has of changed links goes when TERSE_EDGE_TTL_S is over');
    onProblem(`the edge ${purger.name} cannot be told to forget everything`, advice);
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
      // Told meanwhile that everything is to go, nothing counts as done.
      if (!this.#owesAll) position.write(first.resumeSeq);
      this.#repeats.shift();
      this.#held -= first.codes.length;
    }
  }

  /** How many of them had anything to purge. */
  async #purge(codes: readonly string[]): Promise<number> {
    const { purger } = this.#options;
    const changed = await this.#changed(codes);
    for (let from = 0; from < changed.length; from += purger.codesMax)
      await purger.purge(changed.slice(from, from + purger.codesMax));
    return changed.length;
  }

  /** Without links in their first version: they are in the feed because they are new, and never led elsewhere. */
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
    if (clock.monotonicMs() - this.#complainedMs < complaintMs) return;
    this.#complainedMs = clock.monotonicMs();
    onProblem(`changes cannot be purged from the edge ${purger.name}`, error);
  }
}
