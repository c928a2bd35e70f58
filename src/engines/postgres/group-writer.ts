/**
 * Group commit. Calls that arrive while transactions are being made durable wait together and share the next one, so
 * thousands of creates a second cost a few hundred commits. The caller's `write` writes a transaction; this file only
 * decides which calls share one, and what happens when it fails:
 *
 * - A server that is down fails every call of the transaction as unavailable, with the outcome of the transaction. A
 *   call whose turn did not come has none.
 * - An error about what was written rolls back everything, so the calls are written again one by one and only the one
 *   at fault gets the error.
 */
import type { Clock } from '../../base/clock.ts';
import { Problem } from '../../base/errors.ts';
import { unavailable } from './failures.ts';
import { writeDeadlineMs } from './postgres.ts';

export interface GroupWriterOptions<Item, Outcome> {
  readonly clock: Clock;
  /** How many are under way at once. */
  readonly transactionsMax: number;
  /** Writes all items in one transaction and returns an outcome for each; rejects when nothing was kept. */
  readonly write: (items: readonly Item[], deadlineMs: number) => Promise<readonly Outcome[]>;
}

interface PendingCall<Item, Outcome> {
  readonly items: readonly Item[];
  readonly sinceMs: number;
  readonly cancelTimeout: () => void;
  readonly resolve: (outcomes: Outcome[]) => void;
  readonly reject: (error: unknown) => void;
}

/** Items that may wait; past it calls are refused instead of queueing without end. */
const queuedItemsMax = 200_000;
/** Items in one transaction, unless a single call brings more: bounds how long others wait for its locks. */
const batchItemsMax = 5_000;
/** A transaction gets at least this long, however long its calls have waited. */
const transactionMinMs = 1_000;

export class GroupWriter<Item, Outcome> {
  readonly #options: GroupWriterOptions<Item, Outcome>;
  #pending: PendingCall<Item, Outcome>[] = [];
  #queuedItems = 0;
  #inFlight = 0;
  #closing: Promise<void> | undefined;
  #idle: (() => void) | undefined;
  /** Transactions sent so far; beside the number of calls it shows what sharing saves. */
  transactions = 0;

  constructor(options: GroupWriterOptions<Item, Outcome>) {
    this.#options = options;
  }

  /** One outcome per item, in order, when they are durable. */
  write(items: readonly Item[]): Promise<Outcome[]> {
    const { clock, transactionsMax } = this.#options;
    if (this.#closing !== undefined)
      return Promise.reject(unavailable(new Error('the store is closed'), 'none'));
    if (this.#queuedItems + items.length > queuedItemsMax) return Promise.reject(overloaded());
    return new Promise((resolve, reject) => {
      const cancelTimeout = clock.after(writeDeadlineMs, () => this.#giveUp(call));
      const call = { items, sinceMs: clock.monotonicMs(), cancelTimeout, resolve, reject };
      this.#queuedItems += items.length;
      this.#pending.push(call);
      if (this.#inFlight < transactionsMax) void this.#send();
    });
  }

  /** Waits for what was accepted. */
  close(): Promise<void> {
    this.#closing ??=
      this.#inFlight === 0 ? Promise.resolve() : new Promise(resolve => (this.#idle = resolve));
    return this.#closing;
  }

  async #send(): Promise<void> {
    this.#inFlight += 1;
    while (this.#pending.length > 0) await this.#writeTogether(this.#takeBatch());
    this.#inFlight -= 1;
    if (this.#inFlight === 0) this.#idle?.();
  }

  #takeBatch(): PendingCall<Item, Outcome>[] {
    let taken = 0;
    let items = 0;
    for (const call of this.#pending) {
      if (taken > 0 && items + call.items.length > batchItemsMax) break;
      items += call.items.length;
      taken += 1;
    }
    const calls = this.#pending.splice(0, taken);
    for (const call of calls) call.cancelTimeout();
    return calls;
  }

  async #writeTogether(calls: readonly PendingCall<Item, Outcome>[]): Promise<void> {
    try {
      const items = calls.flatMap(call => call.items);
      const outcomes = await this.#attempt(items, calls[0]!.sinceMs);
      let from = 0;
      for (const call of calls) {
        call.resolve(outcomes.slice(from, from + call.items.length));
        from += call.items.length;
      }
    } catch (error) {
      if (calls.length === 1 || isServersFault(error)) for (const call of calls) call.reject(error);
      else for (const call of calls) await this.#writeAlone(call);
    } finally {
      for (const call of calls) this.#queuedItems -= call.items.length;
    }
  }

  async #writeAlone(call: PendingCall<Item, Outcome>): Promise<void> {
    try {
      call.resolve([...(await this.#attempt(call.items, call.sinceMs))]);
    } catch (error) {
      call.reject(error);
    }
  }

  #attempt(items: readonly Item[], sinceMs: number): Promise<readonly Outcome[]> {
    const { clock, write } = this.#options;
    this.transactions += 1;
    const waitedMs = clock.monotonicMs() - sinceMs;
    return write(items, Math.max(transactionMinMs, writeDeadlineMs - waitedMs));
  }

  #giveUp(call: PendingCall<Item, Outcome>): void {
    const index = this.#pending.indexOf(call);
    if (index === -1) return;
    this.#pending.splice(index, 1);
    this.#queuedItems -= call.items.length;
    call.reject(unavailable(new Error('the write did not get its turn in time'), 'none'));
  }
}

const isServersFault = (error: unknown): boolean =>
  error instanceof Problem && (error.code === 'store_unavailable' || error.code === 'overloaded');

function overloaded(): Problem {
  const detail = 'Too many writes are waiting.';
  return new Problem('overloaded', { detail, headers: { 'Retry-After': '1' } });
}
