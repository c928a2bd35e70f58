/**
 * The change feed. A change takes its number first and is written, with its entry, in one transaction afterwards; so
 * entries become visible out of order, and a number whose transaction failed stays empty. A reader therefore does not go
 * past an empty number that is young: what lies behind it is told at once, and told again later. After `holePatienceMs`
 * nobody writes under that number any more, and it is passed over.
 *
 * Invariant: whoever asks again with `resumeSeq` hears of every change, if also of some more than once.
 */
import type { Clock } from '../../../base/clock.ts';
import type { Dynamo, Item, TransactItem, TransactOutcome } from '../../../engines/dynamodb/dynamodb.ts';
import { isNew } from '../../../engines/dynamodb/expressions.ts';
import type { Change } from '../../store.ts';
import { FeedNumbers } from './feed-numbers.ts';
import { changeKey } from './keys.ts';
import { secondsOf } from './rows.ts';

export interface NotedChange extends Omit<Change, 'seq'> {
  readonly at: number;
}

/** How an entry lies in the table. Without a code it only fills a number whose change came to nothing. */
export interface ChangeRow {
  readonly pk: string;
  readonly sk: string;
  readonly code?: string;
  readonly claimLength?: number;
  readonly claimId?: number;
  /** The time of the change, which is what pruning goes by. */
  readonly at: number;
  /** The writer's clock when it took the number. */
  readonly takenAt: number;
}

/** Longer than any write takes; a write that took longer all the same tells its change again. */
export const holePatienceMs = 10_000;
const lateAfterMs = holePatienceMs - 2_000;
/** `prune` removes entries after minutes; this is for a table that nobody prunes any more. */
const entryKeptMs = 24 * 60 * 60 * 1_000;
const lateAttemptsMax = 5;

export class ChangeWriter {
  readonly #dynamo: Dynamo;
  readonly #clock: Clock;
  readonly #numbers: FeedNumbers;

  constructor(dynamo: Dynamo, clock: Clock) {
    this.#dynamo = dynamo;
    this.#clock = clock;
    this.#numbers = new FeedNumbers(dynamo, clock);
  }

  /** `commit` makes the change and writes the entry it is given, in one transaction. */
  async note(
    change: NotedChange,
    commit: (entry: TransactItem) => Promise<TransactOutcome>,
  ): Promise<TransactOutcome> {
    const { seq, takenAtMs } = await this.#numbers.take();
    const outcome = await commit({ put: this.#entry(seq, change), condition: isNew });
    if (outcome.kind === 'done') await this.#tellAgainIfLate(takenAtMs, change);
    else this.#fill(seq, change);
    return outcome;
  }

  /** A process that stood still in between may have written under a number that readers have passed over. */
  async #tellAgainIfLate(takenAtMs: number, change: NotedChange): Promise<void> {
    let sinceMs = takenAtMs;
    for (let attempt = 0; attempt < lateAttemptsMax; attempt += 1) {
      if (this.#clock.monotonicMs() - sinceMs < lateAfterMs) return;
      const again = await this.#numbers.take();
      await this.#dynamo.write({ put: this.#entry(again.seq, change) });
      sinceMs = again.takenAtMs;
    }
  }

  /** Spares readers the wait for a change that will not come. Nobody waits for this, and it may fail. */
  #fill(seq: number, { at }: NotedChange): void {
    const nothing = { ...changeKey(seq), at, ...this.#times() };
    this.#dynamo.write({ put: nothing, condition: isNew }).catch(() => {});
  }

  #entry(seq: number, { code, claim, at }: NotedChange): Item {
    return { ...changeKey(seq), code, claimLength: claim?.length, claimId: claim?.id, at, ...this.#times() };
  }

  #times(): { takenAt: number; ttl: number } {
    const takenAt = this.#clock.now();
    return { takenAt, ttl: secondsOf(takenAt + entryKeptMs) };
  }
}
