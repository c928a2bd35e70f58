/**
 * Applies changes made by any process to this one's cache and horizon. The store appends every change to its feed in
 * the transaction that makes it, so none is lost; a reader that falls behind the retained part of the feed drops
 * everything it cached. A 404 is exact, because the store is asked before it is answered. Where the store can say
 * cheaply that nothing was written (SQLite's data_version) that costs nothing; elsewhere concurrent callers share one
 * query. Either polls are frequent enough for the kill switch, or messages are faster (invalidation.ts) and polls only
 * find lost ones. Each poll proves that the cached entries were current a moment ago.
 */
import type { Clock } from '../base/clock.ts';
import type { Change, LinkStore } from '../links/store.ts';
import type { Horizon } from './horizon.ts';

export interface FollowerOptions {
  readonly store: Pick<LinkStore, 'changes' | 'changeToken' | 'spans' | 'claims'>;
  readonly clock: Clock;
  readonly horizon: Horizon;
  /** The code length whose spans and claims the horizon follows; undefined where codes are not leased. */
  readonly codeLength: number | undefined;
  readonly onChange: (code: string) => void;
  /** Every change up to here has been read. */
  readonly onReached?: (seq: number) => void;
  /** Changes were missed and cannot be read again: no cached entry may be trusted, here or anywhere. */
  readonly onGap: () => void;
  /** Every change made before this moment, by the monotonic clock, is known. */
  readonly onProven?: (atMs: number) => void;
  readonly onError: (error: unknown) => void;
  readonly pollMs?: number;
}

export const pollMsDefault = 20;
const pageMax = 1_000;
/** Changes beyond it are reported again, which is harmless. */
const reportedMax = 20_000;
/** After a failure the feed is read again sooner, so that an outage of the store is noticed before memory expires. */
const retryAfterMs = 250;

export class ChangeFollower {
  readonly #options: FollowerOptions;
  #resumeSeq = 0;
  /** How far the feed was read, although the next round may resume before. */
  #endSeq = 0;
  /** Changes after `resumeSeq` that were reported: the feed has them in each round until it resumes after them. */
  readonly #reported = new Set<number>();
  #lastToken: number | undefined;
  #round: Promise<void> | undefined;
  #nextRound: Promise<void> | undefined;
  #stop: (() => void) | undefined;
  #provenAtMs = Number.NEGATIVE_INFINITY;
  #cancelRetry: (() => void) | undefined;
  #isStopped = false;

  constructor(options: FollowerOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { store, clock, pollMs = pollMsDefault, onError } = this.#options;
    this.#lastToken = store.changeToken?.();
    ({ resumeSeq: this.#resumeSeq, endSeq: this.#endSeq } = await store.changes(Number.MAX_SAFE_INTEGER, 1));
    await this.#reload();
    const poll = (): void => {
      this.#poll().catch(error => {
        onError(error);
        if (pollMs <= retryAfterMs || this.#cancelRetry !== undefined || this.#isStopped) return;
        this.#cancelRetry = clock.after(retryAfterMs, () => {
          this.#cancelRetry = undefined;
          poll();
        });
      });
    };
    this.#stop = clock.every(pollMs, poll);
  }

  /** Up to this moment, by the monotonic clock, this process knows every change. */
  get provenAtMs(): number {
    return this.#provenAtMs;
  }

  stop(): void {
    this.#isStopped = true;
    this.#stop?.();
    this.#cancelRetry?.();
    this.#cancelRetry = undefined;
  }

  /** False only when it is certain that no other process has changed anything since the last catch-up. */
  isBehind(): boolean {
    const { changeToken } = this.#options.store;
    return changeToken === undefined || changeToken() !== this.#lastToken;
  }

  /** Reads everything that was written before the call; a round that began earlier does not count. */
  catchUp(): Promise<void> {
    if (this.#round === undefined) return this.#startRound();
    this.#nextRound ??= this.#round
      .catch(() => undefined)
      .then(() => {
        this.#nextRound = undefined;
        return this.#startRound();
      });
    return this.#nextRound;
  }

  #startRound(): Promise<void> {
    const round = this.#takeIn().finally(() => {
      this.#round = undefined;
    });
    this.#round = round;
    return round;
  }

  async #takeIn(): Promise<void> {
    const { store, clock, horizon, codeLength, onChange, onReached, onGap } = this.#options;
    // Taken before reading: a write in the meantime makes us behind again, never wrongly up to date.
    const startedMs = clock.monotonicMs();
    const token = store.changeToken?.();
    for (let afterSeq = this.#resumeSeq, isLast = false; !isLast; afterSeq = this.#endSeq) {
      const page = await store.changes(afterSeq, pageMax);
      // A store whose feed went backwards was replaced by a copy of itself, and issues its lost numbers again.
      const isGap = page.gap || page.lastSeq < this.#endSeq;
      if (isGap) {
        onGap();
        await this.#reload();
        this.#reported.clear();
      }
      const fresh = page.changes.filter(({ seq }) => !this.#reported.has(seq));
      for (const { code, claim } of fresh) {
        if (claim !== undefined && claim.length === codeLength) horizon.claim(claim.id);
        onChange(code);
      }
      // A gap in the numbers holds the feed back: reading continues after it, and the next round begins before it
      // again.
      const isHeldBack = this.#resumeSeq < afterSeq;
      if (isGap || !isHeldBack) this.#resumeSeq = page.resumeSeq;
      this.#endSeq = page.endSeq;
      this.#remember(fresh);
      isLast = isGap || page.endSeq >= page.lastSeq;
    }
    for (const seq of this.#reported) if (seq <= this.#resumeSeq) this.#reported.delete(seq);
    if (codeLength !== undefined) horizon.raise(await store.spans(codeLength));
    this.#lastToken = token;
    this.#prove(startedMs);
    onReached?.(this.#resumeSeq);
  }

  #remember(changes: readonly Change[]): void {
    for (const { seq } of changes)
      if (seq > this.#resumeSeq && this.#reported.size < reportedMax) this.#reported.add(seq);
  }

  async #poll(): Promise<void> {
    if (this.isBehind()) await this.catchUp();
    else this.#prove(this.#options.clock.monotonicMs());
  }

  #prove(atMs: number): void {
    this.#provenAtMs = atMs;
    this.#options.onProven?.(atMs);
  }

  async #reload(): Promise<void> {
    const { store, horizon, codeLength } = this.#options;
    if (codeLength === undefined) return;
    // Claims first: an id claimed after this is in the feed, one leased after this is within the spans read next.
    const claimed = await store.claims(codeLength);
    horizon.reset(await store.spans(codeLength), claimed);
  }
}
