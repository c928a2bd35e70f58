/**
 * Carries changes made by any process to this one's cache and horizon. The store appends every change in the
 * transaction that makes it, so nothing is lost on the way; a reader that fell behind the kept part forgets
 * everything it cached, and so does one that has heard nothing for two seconds. A 404 is only given after asking, which
 * makes it exact; where the store can say cheaply that nobody wrote (SQLite's data_version) that costs nothing, elsewhere
 * all who ask at once share one question. Polls are short enough for the kill switch, or messages are quicker than they
 * (invalidation.ts) and they only make up for those that are lost. Each poll that finds nothing new, or takes in what
 * is, proves that whatever is cached was true a moment ago.
 */
import type { Clock } from '../base/clock.ts';
import type { LinkStore } from '../links/store.ts';
import type { Horizon } from './horizon.ts';

export interface FollowerOptions {
  readonly store: Pick<LinkStore, 'changes' | 'changeToken' | 'spans' | 'claims'>;
  readonly clock: Clock;
  readonly horizon: Horizon;
  /** The code length whose spans and claims the horizon follows; undefined where codes are not leased. */
  readonly codeLength: number | undefined;
  readonly onChange: (code: string) => void;
  /** Every change up to here has been heard. */
  readonly onReached?: (seq: number) => void;
  /** Changes were missed for good: nothing cached may be trusted, here or anywhere. */
  readonly onGap: () => void;
  /** Nothing was heard for too long: what this process remembers may be anything by now. */
  readonly onSilence: () => void;
  readonly onError: (error: unknown) => void;
  readonly pollMs?: number;
}

export const pollMsDefault = 20;
const pageMax = 1_000;
/** Past this without word from the store, what is cached may be anything. */
const silenceMaxMs = 2_000;

export class ChangeFollower {
  readonly #options: FollowerOptions;
  #resumeSeq = 0;
  #lastToken: number | undefined;
  #round: Promise<void> | undefined;
  #nextRound: Promise<void> | undefined;
  #stop: (() => void) | undefined;
  #provenAtMs = Number.NEGATIVE_INFINITY;
  #heardAtMs = 0;

  constructor(options: FollowerOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { store, clock, pollMs = pollMsDefault } = this.#options;
    this.#lastToken = store.changeToken?.();
    this.#resumeSeq = (await store.changes(Number.MAX_SAFE_INTEGER, 1)).resumeSeq;
    await this.#reload();
    this.#heardAtMs = clock.monotonicMs();
    this.#stop = clock.every(pollMs, () => {
      this.#poll().catch(this.#options.onError);
    });
  }

  /** Up to this moment, by the monotonic clock, every change is known here. */
  get provenAtMs(): number {
    return this.#provenAtMs;
  }

  stop(): void {
    this.#stop?.();
  }

  /** False only when it is certain that no other process has changed anything since the last catch-up. */
  isBehind(): boolean {
    const { changeToken } = this.#options.store;
    return changeToken === undefined || changeToken() !== this.#lastToken;
  }

  /** Takes in whatever was written before the call; a round that began earlier does not count. */
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
    // Taken before reading: whatever is written meanwhile makes us behind again, never wrongly up to date.
    const startedMs = clock.monotonicMs();
    const token = store.changeToken?.();
    for (;;) {
      const page = await store.changes(this.#resumeSeq, pageMax);
      // A store that knows less than it did was replaced by a copy of itself, and gives its lost numbers again.
      const isGap = page.gap || page.lastSeq < this.#resumeSeq;
      const isLast = isGap || page.changes.length < pageMax || page.resumeSeq === this.#resumeSeq;
      this.#resumeSeq = page.resumeSeq;
      if (isGap) {
        onGap();
        await this.#reload();
      }
      for (const { code, claim } of page.changes) {
        if (claim !== undefined && claim.length === codeLength) horizon.claim(claim.id);
        onChange(code);
      }
      if (isLast) break;
    }
    if (codeLength !== undefined) horizon.raise(await store.spans(codeLength));
    this.#lastToken = token;
    this.#provenAtMs = startedMs;
    onReached?.(this.#resumeSeq);
  }

  async #poll(): Promise<void> {
    const { clock, onSilence } = this.#options;
    try {
      if (this.isBehind()) await this.catchUp();
      else this.#provenAtMs = clock.monotonicMs();
      this.#heardAtMs = clock.monotonicMs();
    } finally {
      // A feed that has fallen silent says nothing of kills; the store itself may still answer.
      if (clock.monotonicMs() - this.#heardAtMs > silenceMaxMs) {
        this.#heardAtMs = clock.monotonicMs();
        onSilence();
      }
    }
  }

  async #reload(): Promise<void> {
    const { store, horizon, codeLength } = this.#options;
    if (codeLength === undefined) return;
    // Claims first: an id claimed after this is in the feed, one leased after this is within the spans read next.
    const claimed = await store.claims(codeLength);
    horizon.reset(await store.spans(codeLength), claimed);
  }
}
