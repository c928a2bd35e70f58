import { backoffMs } from '../base/backoff.ts';
import { type Clock, sleep } from '../base/clock.ts';
import { invariant } from '../base/errors.ts';
import type { Random } from '../base/random.ts';
import type { CodeSpace } from './code-space.ts';
import type { RangeSource } from './generator.ts';
import type { IdShare } from './id-share.ts';

/**
 * Codes made ahead of their use, so that creating a link asks the store for nothing but the link itself.
 *
 * Two thresholds keep it full. A range of ids is leased in the background as soon as fewer than `poolMax` codes are
 * available, so an outage of the store leaves at least `poolMax` of them: with 10,000, ten seconds of creates at 1,000
 * a second. Up to `poolMax` of the available codes are minted and checked already; when fewer than half are, more are
 * minted in small slices between requests. The rest stays a range of two numbers, which is why a lease of a million ids
 * costs no memory.
 *
 * Invariant: an id leaves the pool at most once. Ids that are held when the process ends are never issued.
 */
export interface KeyPoolOptions {
  readonly source: RangeSource;
  readonly space: CodeSpace;
  readonly clock: Clock;
  readonly random: Random;
  /** The part of the space that ids are leased from; all of it unless given. */
  readonly share?: IdShare;
  /** Ids per lease, 1 to 1,000,000; 10,000 unless given. */
  readonly rangeSize?: number;
  /** Codes that stay available, and the most that are minted ahead; 10,000 unless given. */
  readonly poolMax?: number;
  /** How long `take` waits for a lease when the pool is empty; 1,000 unless given. */
  readonly waitMaxMs?: number;
  /** Codes it rejects are skipped: reserved and offensive words. */
  readonly isAllowed?: (code: string) => boolean;
}

export type KeyPoolFailure = 'allocator-unavailable' | 'space-exhausted' | 'closed';

/** Why there is no code; the strategy decides what to do about it. */
export class KeyPoolError extends Error {
  override readonly name = 'KeyPoolError';
  readonly reason: KeyPoolFailure;

  constructor(reason: KeyPoolFailure, cause?: unknown) {
    super(`the key pool has no code: ${reason}`, { cause });
    this.reason = reason;
  }
}

export const rangeSizeMax = 1_000_000;

const retryDelay = { minMs: 50, maxMs: 5_000 };
/** From this many failed leases in a row on, an empty pool rejects at once instead of after a wait. */
const failuresUntilDown = 3;
/** Minting this many takes well under a millisecond, so a redirect never waits long behind it. */
const mintSliceMax = 128;
const waitersMax = 10_000;
/** Codes rejected in a row that show that the filter is wrong: minting ahead stops, so as not to burn ids. */
const refusalsMax = 1_000;

interface Waiter {
  resolve(code: string): void;
  reject(error: KeyPoolError): void;
  cancelDeadline(): void;
}

export class KeyPool {
  readonly #source: RangeSource;
  readonly #space: CodeSpace;
  readonly #share: IdShare;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #rangeSize: number;
  readonly #poolMax: number;
  readonly #waitMaxMs: number;
  readonly #isAllowed: (code: string) => boolean;

  readonly #minted: string[] = [];
  readonly #leased = new LeasedRanges();
  /** In order of arrival; a Set, so that a take that timed out is removed at no cost. */
  readonly #waiters = new Set<Waiter>();

  #leasing = false;
  #minting = false;
  #exhausted = false;
  #closed = false;
  /** Codes rejected since the last one that was allowed. */
  #refusals = 0;
  /** Leases that failed since the last one that was granted. */
  #failures = 0;
  #lastFailure: unknown;
  #cancelRetry: () => void = () => {};

  constructor(options: KeyPoolOptions) {
    this.#source = options.source;
    this.#space = options.space;
    this.#share = options.share ?? { first: 0, limit: options.space.size };
    this.#clock = options.clock;
    this.#random = options.random;
    this.#rangeSize = options.rangeSize ?? 10_000;
    this.#poolMax = options.poolMax ?? 10_000;
    this.#waitMaxMs = options.waitMaxMs ?? 1_000;
    this.#isAllowed = options.isAllowed ?? (() => true);
    invariant(isCount(this.#rangeSize, rangeSizeMax), 'a lease has 1 to 1,000,000 ids');
    invariant(isCount(this.#poolMax, rangeSizeMax), 'a pool has 1 to 1,000,000 codes');
    this.#refill();
  }

  /** Codes available without asking the store. */
  available(): number {
    return this.#minted.length + this.#leased.count;
  }

  /** A code that is available at once. */
  takeNow(): string | undefined {
    if (this.#closed) return undefined;
    const code = this.#minted.pop() ?? this.#mint();
    this.#refill();
    return code;
  }

  async take(): Promise<string> {
    if (this.#closed) throw new KeyPoolError('closed');
    const code = this.takeNow();
    if (code !== undefined) return code;
    if (this.#exhausted) throw new KeyPoolError('space-exhausted');
    if (this.#failures >= failuresUntilDown || this.#waiters.size >= waitersMax) throw this.#unavailable();
    return this.#wait();
  }

  /** Ends all background work and rejects all waiting takes. */
  close(): void {
    this.#closed = true;
    this.#cancelRetry();
    this.#rejectWaiters(new KeyPoolError('closed'));
  }

  #wait(): Promise<string> {
    return new Promise((resolve, reject) => {
      const cancelDeadline = this.#clock.after(this.#waitMaxMs, () => {
        this.#waiters.delete(waiter);
        reject(this.#unavailable());
      });
      const waiter: Waiter = { resolve, reject, cancelDeadline };
      this.#waiters.add(waiter);
    });
  }

  /** Starts all background work that is due and not yet running. */
  #refill(): void {
    if (this.#closed) return;
    if (!this.#leasing && !this.#exhausted && this.available() < this.#poolMax) {
      this.#leasing = true;
      void this.#lease();
    }
    const mintedLow = this.#minted.length < this.#poolMax / 2;
    const refusing = this.#refusals >= refusalsMax;
    if (!this.#minting && !refusing && mintedLow && this.#leased.count > 0) {
      this.#minting = true;
      void this.#mintAhead();
    }
  }

  async #lease(): Promise<void> {
    let lease: LeasedRange;
    try {
      const { first, limit } = this.#share;
      lease = await this.#source.leaseRange(this.#space.length, this.#rangeSize, limit, first);
    } catch (error) {
      this.#retryLease(error);
      return;
    }
    if (this.#closed) return;
    this.#leasing = false;
    this.#failures = 0;
    if (lease.from === lease.to) this.#exhausted = true;
    else this.#leased.add(lease);
    this.#serveWaiters();
    this.#refill();
  }

  /** The lease still counts as running during the pause, so that takes do not start another. */
  #retryLease(failure: unknown): void {
    if (this.#closed) return;
    this.#failures += 1;
    this.#lastFailure = failure;
    if (this.#failures >= failuresUntilDown) this.#rejectWaiters(this.#unavailable());
    this.#cancelRetry = this.#clock.after(
      backoffMs(this.#failures, retryDelay, this.#random),
      () => void this.#lease(),
    );
  }

  async #mintAhead(): Promise<void> {
    for (let more = true; more; ) {
      await sleep(this.#clock, 0);
      for (let minted = 0; minted < mintSliceMax && more; minted += 1) {
        const code = this.#closed ? undefined : this.#mint();
        if (code !== undefined) this.#minted.push(code);
        more = code !== undefined && this.#minted.length < this.#poolMax;
      }
    }
    this.#minting = false;
    // Rejected codes do not count as taken, so the pool may be low again without a take having noticed.
    this.#refill();
  }

  /** The next allowed code of the leased ranges; undefined when there is none or none within reach. */
  #mint(): string | undefined {
    for (let attempt = 0; attempt < refusalsMax; attempt += 1) {
      const id = this.#leased.next();
      if (id === undefined) break;
      const code = this.#space.encode(id);
      if (this.#isAllowed(code)) {
        this.#refusals = 0;
        return code;
      }
      this.#refusals += 1;
    }
    return undefined;
  }

  #serveWaiters(): void {
    for (const waiter of this.#waiters) {
      const code = this.#mint();
      if (code === undefined) break;
      this.#waiters.delete(waiter);
      waiter.cancelDeadline();
      waiter.resolve(code);
    }
    if (this.#exhausted) this.#rejectWaiters(new KeyPoolError('space-exhausted'));
  }

  #rejectWaiters(error: KeyPoolError): void {
    for (const waiter of this.#waiters) {
      waiter.cancelDeadline();
      waiter.reject(error);
    }
    this.#waiters.clear();
  }

  #unavailable(): KeyPoolError {
    return new KeyPoolError('allocator-unavailable', this.#lastFailure);
  }
}

function isCount(value: number, max: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= max;
}

/**
 * Leased ids that are not yet minted, kept as ranges of two numbers each. An id that an alias claimed before
 * the lease is left out. Ids come out in order and at most once.
 */
export interface LeasedRange {
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
  readonly claimed: readonly number[];
}

class LeasedRanges {
  #ranges: { next: number; readonly to: number; readonly claimed: ReadonlySet<number> }[] = [];
  #count = 0;

  /** Ids that `next` will still return. */
  get count(): number {
    return this.#count;
  }

  add(range: LeasedRange): void {
    const claimed = new Set(range.claimed.filter(id => id >= range.from && id < range.to));
    this.#ranges.push({ next: range.from, to: range.to, claimed });
    this.#count += range.to - range.from - claimed.size;
  }

  next(): number | undefined {
    for (let range = this.#ranges[0]; range !== undefined; range = this.#ranges[0]) {
      while (range.next < range.to) {
        const id = range.next;
        range.next += 1;
        if (range.claimed.has(id)) continue;
        this.#count -= 1;
        return id;
      }
      this.#ranges.shift();
    }
    return undefined;
  }
}
