/**
 * The path of every call to the engine: a slot among the bounded number in flight, a deadline that also aborts the
 * connection, and capped, jittered retries of transient failures. Any other failure becomes the one problem that the
 * rest of Terse knows: the store is not available.
 *
 * Invariant: a call settles within its deadline, whatever the engine does, and nothing waits without bound. A write
 * that fails says whether it may have been done: it may once a request was sent that no definite answer came to.
 */
import { backoffMs } from '../../base/backoff.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import { withSignal } from '../../base/deadline.ts';
import { type Outcome, Problem } from '../../base/errors.ts';
import type { Random } from '../../base/random.ts';
import { Semaphore, untilAborted } from '../../base/semaphore.ts';
import { failureOf, isUnanswered } from './failures.ts';

export interface CallOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly readDeadlineMs?: number;
  readonly writeDeadlineMs?: number;
  /** Calls under way at once, each with a connection. */
  readonly underWayMax?: number;
  /** Calls that may wait for a place. */
  readonly waitingMax?: number;
}

export type CallKind = 'read' | 'write' | 'table';

/**
 * Questions about the table and changes of it, of which no request waits for any: they may take long. DynamoDB Local
 * took a third of a second to describe a table of 60,000 links.
 */
const tableDeadlineMs = 60_000;
const retryDelay = { minMs: 20, maxMs: 500 };
/** A connection that the engine closed while idle is replaced at once; an engine that is down is not waited for. */
const lostMax = 2;

export class DynamoCalls {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly deadlineMs: Readonly<Record<CallKind, number>>;
  readonly #slots: Semaphore;
  /** Calls that were repeated because the engine asked for it. */
  retries = 0;

  constructor(options: CallOptions) {
    this.#clock = options.clock;
    this.#random = options.random;
    this.deadlineMs = {
      read: options.readDeadlineMs ?? 1_000,
      write: options.writeDeadlineMs ?? 5_000,
      table: tableDeadlineMs,
    };
    const { underWayMax = 128, waitingMax = 20_000 } = options;
    this.#slots = new Semaphore({ slots: () => underWayMax, waitingMax, full: overloaded });
  }

  /**
   * A condition that did not hold, or a fault of ours, is thrown as the engine's own error; the rest as a `Problem`.
   */
  async run<Output>(
    kind: CallKind,
    send: (signal: AbortSignal) => Promise<Output>,
    deadlineMs = this.deadlineMs[kind],
  ): Promise<Output> {
    const endMs = this.#clock.monotonicMs() + deadlineMs;
    return withSignal(this.#clock, deadlineMs, signal =>
      this.#slots.run(() => this.#attempt(kind, send, signal, endMs), untilAborted(signal, unanswered)),
    );
  }

  async #attempt<Output>(
    kind: CallKind,
    send: (signal: AbortSignal) => Promise<Output>,
    signal: AbortSignal,
    endMs: number,
  ): Promise<Output> {
    let lost = 0;
    let outcome: Outcome = 'none';
    for (let failures = 1; ; failures += 1) {
      try {
        return await send(signal);
      } catch (error) {
        // An earlier request may be under way still, so after a later rejection the outcome is still unknown.
        if (kind !== 'read' && isUnanswered(error)) outcome = 'unknown';
        if (signal.aborted) throw unavailable('DynamoDB did not answer in time.', outcome, error);
        const failure = failureOf(error);
        if (failure === 'refused' || failure === 'fault') throw error;
        if (failure === 'lost') lost += 1;
        const waitMs = Math.ceil(this.#random.float() * backoffMs(failures, retryDelay));
        const isOver = this.#clock.monotonicMs() + waitMs >= endMs;
        if (failure === 'final' || lost > lostMax || isOver) throw unavailable(undefined, outcome, error);
        this.retries += 1;
        await sleep(this.#clock, waitMs);
      }
    }
  }
}

const overloaded = (): Problem =>
  new Problem('overloaded', {
    detail: 'Too many requests wait for the store.',
    headers: { 'Retry-After': '1' },
  });

const unanswered = (): Problem => unavailable('DynamoDB did not answer in time.', 'none');

function unavailable(detail: string | undefined, outcome: Outcome, cause?: unknown): Problem {
  return new Problem('store_unavailable', { ...(detail === undefined ? {} : { detail }), outcome, cause });
}
