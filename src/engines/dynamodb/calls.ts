/**
 * The way of every call to the engine: a place among the bounded number under way, a deadline that also gives up the
 * connection, and capped, jittered retries of what passes by itself. Whatever else goes wrong is the one problem that
 * the rest of Terse knows: the store is not available.
 *
 * Invariant: a call settles within its deadline, whatever the engine does, and nothing waits without bound.
 */
import { type Clock, sleep } from '../../base/clock.ts';
import { Problem } from '../../base/errors.ts';
import type { Random } from '../../base/random.ts';
import { failureOf } from './failures.ts';

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
 * Questions about the table and changes of it, of which no request waits for any: they may take long. DynamoDB Local took
 * a third of a second to describe a table of 60,000 links.
 */
const tableDeadlineMs = 60_000;
const retryDelayMinMs = 20;
const retryDelayMaxMs = 500;
/** A connection that the engine closed while idle is replaced at once; an engine that is away is not waited for. */
const lostMax = 2;

export class DynamoCalls {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #deadlineMs: Readonly<Record<CallKind, number>>;
  readonly #underWayMax: number;
  readonly #waitingMax: number;
  readonly #waiting: (() => void)[] = [];
  #underWay = 0;
  /** Calls that were repeated because the engine asked for it. */
  retries = 0;

  constructor(options: CallOptions) {
    this.#clock = options.clock;
    this.#random = options.random;
    this.#deadlineMs = {
      read: options.readDeadlineMs ?? 1_000,
      write: options.writeDeadlineMs ?? 5_000,
      table: tableDeadlineMs,
    };
    this.#underWayMax = options.underWayMax ?? 128;
    this.#waitingMax = options.waitingMax ?? 20_000;
  }

  /** A condition that did not hold, or a fault of ours, is thrown as the engine's own error; the rest as a `Problem`. */
  async run<Output>(kind: CallKind, send: (signal: AbortSignal) => Promise<Output>): Promise<Output> {
    const deadline = new AbortController();
    const endMs = this.#clock.monotonicMs() + this.#deadlineMs[kind];
    const cancel = this.#clock.after(this.#deadlineMs[kind], () => deadline.abort());
    try {
      await this.#enter(deadline.signal);
      try {
        return await this.#attempt(send, deadline.signal, endMs);
      } finally {
        this.#leave();
      }
    } finally {
      cancel();
    }
  }

  async #attempt<Output>(
    send: (signal: AbortSignal) => Promise<Output>,
    signal: AbortSignal,
    endMs: number,
  ): Promise<Output> {
    let lost = 0;
    for (let delayMs = retryDelayMinMs; ; delayMs = Math.min(delayMs * 2, retryDelayMaxMs)) {
      try {
        return await send(signal);
      } catch (error) {
        if (signal.aborted) throw unavailable('DynamoDB did not answer in time.', error);
        const failure = failureOf(error);
        if (failure === 'refused' || failure === 'fault') throw error;
        if (failure === 'lost') lost += 1;
        const waitMs = Math.ceil(this.#random.float() * delayMs);
        const isOver = this.#clock.monotonicMs() + waitMs >= endMs;
        if (failure === 'final' || lost > lostMax || isOver) throw unavailable(undefined, error);
        this.retries += 1;
        await sleep(this.#clock, waitMs);
      }
    }
  }

  async #enter(signal: AbortSignal): Promise<void> {
    if (this.#underWay < this.#underWayMax) {
      this.#underWay += 1;
      return;
    }
    if (this.#waiting.length >= this.#waitingMax) {
      throw new Problem('overloaded', {
        detail: 'Too many requests wait for the store.',
        headers: { 'Retry-After': '1' },
      });
    }
    await new Promise<void>((resolve, reject) => {
      const giveUp = () => {
        const position = this.#waiting.indexOf(enter);
        if (position !== -1) this.#waiting.splice(position, 1);
        reject(unavailable('DynamoDB did not answer in time.'));
      };
      const enter = () => {
        signal.removeEventListener('abort', giveUp);
        resolve();
      };
      signal.addEventListener('abort', giveUp, { once: true });
      this.#waiting.push(enter);
    });
  }

  /** The place goes to whoever has waited longest, without being free in between. */
  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#underWay -= 1;
    else next();
  }
}

function unavailable(detail: string | undefined, cause?: unknown): Problem {
  return new Problem('store_unavailable', { ...(detail === undefined ? {} : { detail }), cause });
}
