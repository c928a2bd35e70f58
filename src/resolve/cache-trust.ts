/**
 * Knows what of the shared cache this process may believe. A code that changed a moment ago is not looked up there; nor is
 * one whose fence could not be set, which stays owed until it is. And nothing at all is, from when a part of the cache
 * returns until its mark was read: that part may have forgotten fences. What it can have forgotten is then fenced again,
 * from this process's own memory if that reaches far enough, else from the store's feed, and where both are too short,
 * every record cached so far counts as worthless, for everyone, by a time written into the mark.
 */
import type { Clock } from '../base/clock.ts';
import type { LinkStore } from '../links/store.ts';
import { type CacheMark, fenceMsDefault, type LinkCache } from './cache.ts';
import { RecentChanges } from './recent-changes.ts';

export interface CacheTrustOptions {
  readonly cache: LinkCache;
  readonly feed: Pick<LinkStore, 'changes'>;
  readonly clock: Clock;
  readonly owedMax?: number;
}

/** More than the recent changes, all of which can come to be owed at once. */
const owedMaxDefault = 50_000;
const retryAfterMs = 200;
/** Fences sent at a time. */
const batchMax = 500;
/** What may lie between a fence and our hearing of it, and between the clocks of two servers. */
const marginMs = 5_000;
const markEveryMs = 5_000;
const replayPageMax = 1_000;
const replayPagesMax = 20;

export class CacheTrust {
  readonly #options: CacheTrustOptions;
  readonly #recent: RecentChanges;
  readonly #owed = new Set<string>();
  readonly #owedMax: number;
  #isTrusted = false;
  #mustDistrust = false;
  #trustFromMs = 0;
  /** Up to here every change is fenced. */
  #fencedSeq: number | undefined;
  #markedAtMs = Number.NEGATIVE_INFINITY;
  #returns = 0;
  #isVerifying = false;
  #isPaying = false;
  #cancelRetry: (() => void) | undefined;
  #isStopped = false;
  /** Fences that were not set at the first attempt, looks back into the feed, and times that all was worthless. */
  fencesFailed = 0;
  replays = 0;
  distrusts = 0;

  constructor(options: CacheTrustOptions) {
    this.#options = options;
    this.#owedMax = options.owedMax ?? owedMaxDefault;
    this.#recent = new RecentChanges(options.clock);
  }

  get isTrusted(): boolean {
    return this.#isTrusted;
  }

  get owed(): number {
    return this.#owed.size;
  }

  /** Records cached before this, by the cache's clock, are worth nothing. */
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

  /** Whether the cache may be asked about the code, or told of it. */
  mayUse(code: string): boolean {
    return this.#isTrusted && !this.#owed.has(code) && !this.isRecent(code);
  }

  /** Whether the code changed so lately that only the store itself knows. */
  isRecent(code: string): boolean {
    return this.#recent.isHeardWithin(code, fenceMsDefault);
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

  /** Changes were missed for good: nobody knows which records are old. */
  distrust(): void {
    this.#owed.clear();
    this.#mustDistrust = true;
    void this.#verify();
  }

  /** This process has heard every change of the feed up to here. */
  reached(seq: number): void {
    if (this.#owed.size === 0) this.#fencedSeq = seq;
    if (!this.#isTrusted) return;
    this.#recent.forgetOld();
    const nowMs = this.#options.clock.monotonicMs();
    if (this.#fencedSeq === undefined || nowMs - this.#markedAtMs < markEveryMs) return;
    this.#markedAtMs = nowMs;
    // One that cannot be written now is older when it is read, and more is fenced again.
    this.#writeMark(this.#fencedSeq, this.#trustFromMs).catch(() => undefined);
  }

  /** Believes nothing until it is known how far the cache's memory reaches. */
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
      void this.#pay();
    } catch {
      this.#retrySoon();
    } finally {
      this.#isVerifying = false;
    }
  }

  async #makeSure(): Promise<void> {
    const { nowMs, mark } = await this.#options.cache.readMark();
    const isRemembered = mark === undefined || this.#reachesBackTo(mark);
    if (!isRemembered && !this.#mustDistrust && !(await this.#replay(mark))) this.#mustDistrust = true;
    this.#trustFromMs = Math.max(this.#trustFromMs, mark?.trustFromMs ?? 0);
    if (this.#mustDistrust) {
      await this.#writeMark(mark?.seq ?? 0, nowMs + marginMs);
      this.#mustDistrust = false;
      this.distrusts += 1;
    } else if (mark === undefined) {
      await this.#writeMark(this.#fencedSeq ?? (await this.#lastSeq()), this.#trustFromMs);
    }
    // A new mark would say that nothing is forgotten, so it is not written before all of this is fenced again.
    for (const code of this.#recent.codes()) this.#owed.add(code);
    this.#fencedSeq = undefined;
    this.#markedAtMs = Number.NEGATIVE_INFINITY;
  }

  #reachesBackTo({ ageMs }: CacheMark): boolean {
    return this.#options.clock.monotonicMs() - ageMs - marginMs >= this.#recent.completeSinceMs;
  }

  /** Owes a fence for every change since the mark; false when the feed no longer has them, or too many. */
  async #replay({ seq: markedSeq }: CacheMark): Promise<boolean> {
    this.replays += 1;
    // Another store's mark says nothing about this one.
    if (markedSeq > (await this.#lastSeq())) return false;
    for (let seq = markedSeq, pages = 0; pages < replayPagesMax; pages += 1) {
      const page = await this.#options.feed.changes(seq, replayPageMax);
      if (page.gap) return false;
      for (const { code } of page.changes) {
        this.#recent.add(code);
        this.#owed.add(code);
      }
      if (page.changes.length < replayPageMax || page.resumeSeq === seq) return true;
      seq = page.resumeSeq;
    }
    return false;
  }

  async #lastSeq(): Promise<number> {
    return (await this.#options.feed.changes(Number.MAX_SAFE_INTEGER, 1)).resumeSeq;
  }

  async #writeMark(seq: number, trustFromMs: number): Promise<void> {
    const trusted = await this.#options.cache.writeMark(seq, trustFromMs);
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

  /** What failed goes to the end, so that the servers that are there get theirs. */
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
