/**
 * Numbers for changes, from one counter that all processes share. An item takes a thousand writes a second; callers that
 * come while a number is being fetched share the next write, so a busy process asks no more often than a calm one.
 */
import type { Clock } from '../../../base/clock.ts';
import { Problem } from '../../../base/errors.ts';
import type { Dynamo } from '../../../engines/dynamodb/dynamodb.ts';
import { feedKey } from './keys.ts';

export interface FeedNumber {
  readonly seq: number;
  /** By the monotonic clock, from before the number was taken: others may have seen it since then. */
  readonly takenAtMs: number;
}

export interface FeedCounter {
  readonly last: number;
  /** Entries up to this number may be gone. */
  readonly pruned?: number;
}

interface Waiter {
  readonly resolve: (number: FeedNumber) => void;
  readonly reject: (error: unknown) => void;
}

const atOnceMax = 1_000;
const waitingMax = 50_000;

export class FeedNumbers {
  readonly #dynamo: Dynamo;
  readonly #clock: Clock;
  #waiting: Waiter[] = [];
  #isAsking = false;

  constructor(dynamo: Dynamo, clock: Clock) {
    this.#dynamo = dynamo;
    this.#clock = clock;
  }

  take(): Promise<FeedNumber> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.length >= waitingMax) {
        reject(
          new Problem('overloaded', {
            detail: 'Too many changes are waiting.',
            headers: { 'Retry-After': '1' },
          }),
        );
        return;
      }
      this.#waiting.push({ resolve, reject });
      if (!this.#isAsking) void this.#ask();
    });
  }

  async #ask(): Promise<void> {
    this.#isAsking = true;
    while (this.#waiting.length > 0) {
      const waiters = this.#waiting.splice(0, atOnceMax);
      const takenAtMs = this.#clock.monotonicMs();
      try {
        const last = await this.#add(waiters.length);
        waiters.forEach(({ resolve }, position) => {
          resolve({ seq: last - waiters.length + 1 + position, takenAtMs });
        });
      } catch (error) {
        for (const { reject } of waiters) reject(error);
      }
    }
    this.#isAsking = false;
  }

  /** A lost answer costs the numbers it told of: they stay holes, which readers pass over. */
  async #add(count: number): Promise<number> {
    const add = { update: feedKey, expression: 'ADD #last :count', values: { count } };
    const counter = await this.#dynamo.update<FeedCounter>(add, 'new');
    return counter!.last!;
  }
}
