/**
 * Decides which entries of the shared cache this process may trust. It does not look up a code there that changed a
 * moment ago, nor one whose fence could not be set: that fence stays owed until it is set. When a part of the cache
 * returns after an outage, it may have lost fences, so nothing is looked up until its checkpoint has been read. The
 * fences that may be lost are then set again, from this process's own memory if that reaches back far enough, otherwise
 * from the store's feed. If both are too short, a time written into the checkpoint invalidates every record cached so
 * far, for every process.
 */
import type { Clock } from '../base/clock.ts';
import type { LinkStore } from '../links/store.ts';
import { type CacheCheckpoint, fenceMsDefault, type LinkCache } from './cache.ts';

export interface CacheTrustOptions {
  readonly cache: LinkCache;
  readonly feed: Pick<LinkStore, 'changes'>;
  readonly clock: Clock;
  readonly owedMax?: number;
  /** The cache is back and in use; it may have lost anything. */
  readonly onTrusted?: () => void;
}

/** More than the recent changes, all of which can become owed at once. */
const owedMaxDefault = 50_000;
const retryAfterMs = 200;
/** Fences sent per batch. */
const batchMax = 500;
/**
 * Bounds the delay between a fence and this process learning of the change, and the skew between the clocks of two
 * servers.
 */
const marginMs = 5_000;
const markEveryMs = 5_000;
const replayPageMax = 1_000;
const replayPagesMax = 20;

export class CacheTrust {
  readonly #options: CacheTrustOptions;
  readonly #recent: RecentChanges;
  readonly #onTrusted: () => void;
  readonly #owed = new Set<string>();
  readonly #owedMax: number;
  #isTrusted = false;
  #mustDistrust = false;
  #trustFromMs = 0;
  /** Every change up to here is fenced. */
  #fencedSeq: number | undefined;
  /** This process knows every change up to here. */
  #reachedSeq: number | undefined;
  #markedAtMs = Number.NEGATIVE_INFINITY;
  #returns = 0;
  #isVerifying = false;
  #isPaying = false;
  #cancelRetry: (() => void) | undefined;
  #isStopped = false;
  /** Counts fences that failed at the first attempt, replays of the feed, and invalidations of the whole cache. */
  fencesFailed = 0;
  replays = 0;
  distrusts = 0;

  constructor(options: CacheTrustOptions) {
    this.#options = options;
    this.#onTrusted = options.onTrusted ?? (() => {});
    this.#owedMax = options.owedMax ?? owedMaxDefault;
    this.#recent = new RecentChanges(options.clock);
  }

  get isTrusted(): boolean {
    return this.#isTrusted;
  }

  get owed(): number {
    return this.#owed.size;
  }

  /** Records cached before this, by the cache's clock, are invalid. */
  get trustFromMs(): number {
    return this.#trustFromMs;
  }

  async start(): Promise<void> {
    this.#options.cache.onReturn(() => void this.#verify());
    await this.#verify();
  }

  stop(): void {
    this.#isStopped = true;
    this.#isTrusted = false;
    this.#cancelRetry?.();
  }

  /** Whether the code may be read from the cache or written to it. */
  mayUse(code: string): boolean {
    return this.#isTrusted && !this.#owed.has(code) && !this.isRecent(code);
  }

  /** Whether the code changed so recently that only the store itself is up to date. */
  isRecent(code: string): boolean {
    return this.#recent.isReceivedWithin(code, fenceMsDefault);
  }

  /** Whether this process knows of every change since then, by the monotonic clock, and none was of this code. */
  isUnchangedSince(code: string, sinceMs: number): boolean {
    return this.#recent.isUnchangedSince(code, sinceMs - marginMs);
  }

  noteChange(code: string): void {
    this.#recent.add(code);
  }

  /** Returns the codes that could not be fenced now; they are owed. */
  async fence(codes: readonly string[]): Promise<ReadonlySet<string>> {
    const failed = new Set(await this.#options.cache.fence(codes));
    this.#settle(codes, failed);
    this.fencesFailed += failed.size;
    this.owe(failed);
    return failed;
  }

  owe(codes: Iterable<string>): void {
    for (const code of codes) this.#owed.add(code);
    if (this.#owed.size > this.#owedMax) this.distrust();
    else void this.#pay();
  }

  /** Changes were missed and cannot be read again: it is unknown which records are stale. */
  distrust(): void {
    this.#owed.clear();
    this.#mustDistrust = true;
    void this.#verify();
  }

  /** This process knows every change of the feed up to here. */
  reached(seq: number): void {
    this.#reachedSeq = seq;
    if (this.#owed.size === 0) this.#fencedSeq = seq;
    if (!this.#isTrusted) return;
    this.#recent.forgetOld();
    const nowMs = this.#options.clock.monotonicMs();
    if (this.#fencedSeq === undefined || nowMs - this.#markedAtMs < markEveryMs) return;
    this.#markedAtMs = nowMs;
    // If this write fails, the checkpoint is older when it is read, and more is fenced again.
    this.#writeCheckpoint(this.#fencedSeq, this.#trustFromMs).catch(() => undefined);
  }

  /** Trusts nothing until it is known since when the cache has lost no fence. */
  async #verify(): Promise<void> {
    this.#isTrusted = false;
    this.#returns += 1;
    if (this.#isVerifying) return;
    this.#isVerifying = true;
    try {
      for (let seen = 0; seen !== this.#returns && !this.#isStopped; ) {
        seen = this.#returns;
        await this.#makeSure();
      }
      this.#isTrusted = !this.#isStopped;
      this.#onTrusted();
      void this.#pay();
    } catch {
      this.#retrySoon();
    } finally {
      this.#isVerifying = false;
    }
  }

  async #makeSure(): Promise<void> {
    const { nowMs, checkpoint } = await this.#options.cache.readCheckpoint();
    const isRemembered = checkpoint === undefined || this.#reachesBackTo(checkpoint);
    if (!isRemembered && !this.#mustDistrust && !(await this.#replay(checkpoint))) this.#mustDistrust = true;
    this.#trustFromMs = Math.max(this.#trustFromMs, checkpoint?.trustFromMs ?? 0);
    if (this.#mustDistrust) {
      await this.#writeCheckpoint(checkpoint?.seq ?? 0, nowMs + marginMs);
      this.#mustDistrust = false;
      this.distrusts += 1;
    } else if (checkpoint === undefined) {
      // Nothing is cached there, so nothing is stale, and the store need not be asked: it may be down as well.
      await this.#writeCheckpoint(this.#reachedSeq ?? (await this.#lastSeq()), this.#trustFromMs);
    }
    // A new checkpoint would say that no fence was lost, so it is not written before all of these are fenced again.
    for (const code of this.#recent.codes()) this.#owed.add(code);
    this.#fencedSeq = undefined;
    this.#markedAtMs = Number.NEGATIVE_INFINITY;
  }

  #reachesBackTo({ ageMs }: CacheCheckpoint): boolean {
    return this.#options.clock.monotonicMs() - ageMs - marginMs >= this.#recent.completeSinceMs;
  }

  /** Owes a fence for every change since the checkpoint; false when the feed no longer has them, or too many. */
  async #replay({ seq: markedSeq }: CacheCheckpoint): Promise<boolean> {
    this.replays += 1;
    // Another store's checkpoint says nothing about this one.
    if (markedSeq > (await this.#lastSeq())) return false;
    for (let seq = markedSeq, pages = 0; pages < replayPagesMax; pages += 1) {
      const page = await this.#options.feed.changes(seq, replayPageMax);
      if (page.gap) return false;
      for (const { code } of page.changes) {
        this.#recent.add(code);
        this.#owed.add(code);
      }
      if (page.endSeq >= page.lastSeq) return true;
      seq = page.endSeq;
    }
    return false;
  }

  async #lastSeq(): Promise<number> {
    return (await this.#options.feed.changes(Number.MAX_SAFE_INTEGER, 1)).resumeSeq;
  }

  async #writeCheckpoint(seq: number, trustFromMs: number): Promise<void> {
    const trusted = await this.#options.cache.writeCheckpoint(seq, trustFromMs);
    this.#trustFromMs = Math.max(this.#trustFromMs, trusted);
  }

  async #pay(): Promise<void> {
    if (this.#isPaying) return;
    this.#isPaying = true;
    try {
      while (this.#owed.size > 0 && !this.#isStopped) {
        const batch = [...this.#owed.values().take(batchMax)];
        const failed = new Set(await this.#options.cache.fence(batch));
        this.#settle(batch, failed);
        if (failed.size === batch.length) return this.#retrySoon();
      }
    } finally {
      this.#isPaying = false;
    }
  }

  /** Failed codes go to the end, so that the servers that are up get their fences. */
  #settle(codes: readonly string[], failed: ReadonlySet<string>): void {
    for (const code of codes) {
      const wasOwed = this.#owed.delete(code);
      if (wasOwed && failed.has(code)) this.#owed.add(code);
    }
  }

  #retrySoon(): void {
    if (this.#isStopped || this.#cancelRetry !== undefined) return;
    this.#cancelRetry = this.#options.clock.after(retryAfterMs, () => {
      this.#cancelRetry = undefined;
      if (this.#isTrusted) void this.#pay();
      else void this.#verify();
    });
  }
}

/**
 * The codes that this process knows to have changed recently, each with the time of its last change. Bounded in time
 * and number; `completeSinceMs` says since when none was left out.
 */
const keptMs = 60_000;
const codesMaxDefault = 20_000;

export class RecentChanges {
  readonly #clock: Clock;
  readonly #codesMax: number;
  /** In order of time, because a code that changes again moves to the end. */
  readonly #receivedAtMs = new Map<string, number>();
  #completeSinceMs: number;

  constructor(clock: Clock, codesMax = codesMaxDefault) {
    this.#clock = clock;
    this.#codesMax = codesMax;
    this.#completeSinceMs = clock.monotonicMs();
  }

  /** By the monotonic clock. */
  get completeSinceMs(): number {
    return this.#completeSinceMs;
  }

  add(code: string): void {
    this.#receivedAtMs.delete(code);
    this.#receivedAtMs.set(code, this.#clock.monotonicMs());
    if (this.#receivedAtMs.size > this.#codesMax) this.#forgetFirst();
  }

  isReceivedWithin(code: string, withinMs: number): boolean {
    const receivedAtMs = this.#receivedAtMs.get(code);
    return receivedAtMs !== undefined && this.#clock.monotonicMs() - receivedAtMs < withinMs;
  }

  isUnchangedSince(code: string, sinceMs: number): boolean {
    return sinceMs >= this.#completeSinceMs && !this.#receivedAtMs.has(code);
  }

  codes(): IterableIterator<string> {
    return this.#receivedAtMs.keys();
  }

  /** Drops old entries. */
  forgetOld(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const receivedAtMs of this.#receivedAtMs.values()) {
      if (nowMs - receivedAtMs <= keptMs) break;
      this.#forgetFirst();
    }
  }

  #forgetFirst(): void {
    for (const [code, receivedAtMs] of this.#receivedAtMs) {
      this.#receivedAtMs.delete(code);
      this.#completeSinceMs = Math.max(this.#completeSinceMs, receivedAtMs);
      break;
    }
  }
}
