import { type Clock, sleep } from '../../base/clock.ts';
import { invariant, Problem } from '../../base/errors.ts';
import type { PairCodeSpace } from '../code-space.ts';
import { type CodeGenerator, firstAllowed } from '../generator.ts';

/**
 * Ids from the time, the machine and a counter: no store is asked, and machines with different numbers never collide.
 * An id has 63 bits: 41 of milliseconds since 2026 (until 2095), 10 of machine, 12 of sequence. That needs 11
 * characters, and it passes through the permutation of the space, so a code shows neither its time nor its order.
 *
 * Invariant: within a process, (time, sequence) only grows. Where the clock stands still or goes back, the sequence
 * keeps counting on the latest time seen, and when it is full borrows the next millisecond, up to `leadMaxMs` ahead of
 * the latest time seen; past that, mints wait. A process that restarts on a clock set back, or two with one machine
 * number, can repeat an id, so a code is not leased: the insert decides.
 */
export interface SnowflakeStrategyOptions {
  /** Of at least 11 characters. */
  readonly space: PairCodeSpace;
  /** 0 to 1023; different for each process. */
  readonly machine: number;
  readonly clock: Clock;
  /** Milliseconds borrowed from the future before mints wait; 1,000 unless given, which is 4 million codes. */
  readonly leadMaxMs?: number;
  /** The longest a mint waits for the clock; 1,000 unless given. */
  readonly waitMaxMs?: number;
  readonly isAllowed?: (code: string) => boolean;
}

export const snowflakeEpochMs = Date.UTC(2026, 0, 1);
export const snowflakeLengthMin = 11;

const timeMax = 2 ** 41;
const machineMax = 2 ** 10;
const sequenceMax = 2 ** 12;
/** The pair of digits splits the time: its upper 29 bits are the left digit, the other 34 bits the right. */
const timeSplit = 2 ** 12;
/** A mint that waited may find the borrowed time used up by others; it queues again this often. */
const waitsMax = 8;

export function createSnowflakeGenerator({
  space,
  machine,
  clock,
  leadMaxMs = 1_000,
  waitMaxMs = 1_000,
  isAllowed = () => true,
}: SnowflakeStrategyOptions): CodeGenerator {
  invariant(space.length >= snowflakeLengthMin, 'snowflake codes have at least 11 characters');
  invariant(Number.isInteger(machine) && machine >= 0 && machine < machineMax, 'the machine is 0 to 1023');

  let latestSeenMs = 0;
  let timeMs = 0;
  let sequence = -1;
  let closed = false;

  /** Advances to the next (time, sequence) and returns 0, or the wait until there is one. */
  function advance(): number {
    const nowMs = clock.now() - snowflakeEpochMs;
    latestSeenMs = Math.max(latestSeenMs, nowMs);
    if (latestSeenMs > timeMs) {
      timeMs = latestSeenMs;
      sequence = 0;
    } else if (sequence + 1 < sequenceMax) {
      sequence += 1;
    } else if (timeMs + 1 - latestSeenMs <= leadMaxMs) {
      timeMs += 1;
      sequence = 0;
    } else {
      return timeMs + 1 - leadMaxMs - nowMs;
    }
    if (timeMs >= timeMax)
      throw new Problem('codes_exhausted', { detail: 'The time no longer fits a code.' });
    return 0;
  }

  async function next(): Promise<string> {
    for (let waits = 0; waits < waitsMax; waits += 1) {
      if (closed) throw new Problem('overloaded', { detail: 'The server is shutting down.' });
      const waitMs = advance();
      if (waitMs === 0) {
        const left = Math.floor(timeMs / timeSplit);
        return space.encodePair(left, ((timeMs % timeSplit) * machineMax + machine) * sequenceMax + sequence);
      }
      if (waitMs > waitMaxMs) break;
      await sleep(clock, waitMs);
    }
    throw new Problem('overloaded', { detail: 'The clock of the server is behind the codes it has issued.' });
  }

  return {
    mint: async () => ({ code: await firstAllowed(next, isAllowed), leased: false }),
    available: () => Number.POSITIVE_INFINITY,
    close: () => {
      closed = true;
    },
  };
}
