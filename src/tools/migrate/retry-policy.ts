/**
 * How a migration handles transient failures and shared engines: a call to an engine that is down is retried, a bounded
 * number of times, and no more records a second are handled than the operator allows. A retry is safe because every
 * step of a migration can be repeated.
 */
import { type Clock, sleep } from '../../base/clock.ts';
import { Problem } from '../../base/errors.ts';
import { messageOf } from '../../base/finding.ts';
import type { TransferRecord } from '../../base/transfer.ts';
import { MigrationRefused } from './installation.ts';

const firstPauseMs = 250;
const pauseMaxMs = 8_000;
/** About half a minute in all, enough to fail over a primary or restart a server. */
const attemptsMax = 8;

export class RetryPolicy {
  readonly #clock: Clock;
  readonly #recordsPerS: number | undefined;
  #aheadMs = 0;
  #seenMs: number;

  constructor(clock: Clock, recordsPerS: number | undefined) {
    this.#clock = clock;
    this.#recordsPerS = recordsPerS;
    this.#seenMs = clock.monotonicMs();
  }

  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    for (let attempts = 1; ; attempts += 1) {
      try {
        return await work();
      } catch (error) {
        if (!isTransient(error) || attempts === attemptsMax) throw error;
        await sleep(this.#clock, Math.min(pauseMaxMs, firstPauseMs * 2 ** (attempts - 1)));
      }
    }
  }

  /** Names the record that the target rejects, so that the operator can fix it. */
  async write(
    part: string,
    records: readonly TransferRecord[],
    write: (records: readonly TransferRecord[]) => Promise<void>,
  ): Promise<void> {
    try {
      await this.run(() => write(records));
    } catch (error) {
      if (isTransient(error)) throw error;
      for (const record of records) {
        await this.run(() => write([record])).catch(reason => {
          if (isTransient(reason)) throw reason;
          throw new MigrationRefused(`the target refuses ${part} ${record.key}: ${messageOf(reason)}`);
        });
      }
    }
  }

  /** Waits as long as these records take at the allowed rate. */
  async pace(records: number): Promise<void> {
    if (this.#recordsPerS === undefined) return;
    const nowMs = this.#clock.monotonicMs();
    this.#aheadMs = Math.max(0, this.#aheadMs - (nowMs - this.#seenMs));
    this.#seenMs = nowMs;
    this.#aheadMs += (records / this.#recordsPerS) * 1_000;
    await sleep(this.#clock, this.#aheadMs);
  }
}

/** Whether a retry may succeed. */
export const isTransient = (error: unknown): boolean =>
  error instanceof Problem && (error.code === 'store_unavailable' || error.code === 'overloaded');
