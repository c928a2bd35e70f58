/**
 * How a migration goes on while engines hiccup and others work: an engine that is away for a moment is asked again, a
 * bounded number of times, and no more records a second are handled than the operator allows. Asking again is safe
 * because every step of a migration can be repeated.
 */
import { type Clock, sleep } from '../../base/clock.ts';
import { Problem } from '../../base/errors.ts';
import type { TransferRecord } from '../../base/transfer.ts';
import { MigrationRefused } from './installation.ts';

const firstPauseMs = 250;
const pauseMaxMs = 8_000;
/** About half a minute in all, in which a primary is replaced or a server restarted. */
const attemptsMax = 8;

export class Steady {
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
        if (!isPassing(error) || attempts === attemptsMax) throw error;
        await sleep(this.#clock, Math.min(pauseMaxMs, firstPauseMs * 2 ** (attempts - 1)));
      }
    }
  }

  /** Names the record that the target will not have, so that the operator can see to it. */
  async write(
    part: string,
    records: readonly TransferRecord[],
    write: (records: readonly TransferRecord[]) => Promise<void>,
  ): Promise<void> {
    try {
      await this.run(() => write(records));
    } catch (error) {
      if (isPassing(error)) throw error;
      for (const record of records) {
        await this.run(() => write([record])).catch(reason => {
          if (isPassing(reason)) throw reason;
          throw new MigrationRefused(`the target refuses ${part} ${record.key}: ${reasonOf(reason)}`);
        });
      }
    }
  }

  /** Waits as long as these records take at the rate that is allowed. */
  async pace(records: number): Promise<void> {
    if (this.#recordsPerS === undefined) return;
    const nowMs = this.#clock.monotonicMs();
    this.#aheadMs = Math.max(0, this.#aheadMs - (nowMs - this.#seenMs));
    this.#seenMs = nowMs;
    this.#aheadMs += (records / this.#recordsPerS) * 1_000;
    await sleep(this.#clock, this.#aheadMs);
  }
}

/** Whether the engine may answer when it is asked again. */
export const isPassing = (error: unknown): boolean =>
  error instanceof Problem && (error.code === 'store_unavailable' || error.code === 'overloaded');

/** What was said first, which is what tells the operator most. */
export function reasonOf(error: unknown): string {
  let reason = error;
  while (reason instanceof Error && reason.cause instanceof Error) reason = reason.cause;
  return reason instanceof Error ? reason.message : String(reason);
}
