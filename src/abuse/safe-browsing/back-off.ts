/**
 * How long to leave a server alone after it has failed, by the rule of the Safe Browsing documentation:
 * MIN((2^(N−1) × 15 minutes) × (RAND + 1), 24 hours), N counting failures in a row and RAND anew each time.
 */
import type { Random } from '../../base/random.ts';
import { durationMaxMs } from './limits.ts';

const firstDelayMs = 15 * 60_000;
/** Past this the cap has long been reached, and a power of two would no longer fit a number. */
const doublingsMax = 20;

export interface BackOffState {
  readonly failures: number;
  /** Nothing is sent before this time. */
  readonly until: number;
}

export const noBackOff: BackOffState = { failures: 0, until: 0 };

export function backOffDelayMs(failures: number, random: Random): number {
  const doublings = Math.min(failures - 1, doublingsMax);
  return Math.min(2 ** doublings * firstDelayMs * (random.float() + 1), durationMaxMs);
}

export function afterFailure({ failures }: BackOffState, now: number, random: Random): BackOffState {
  return { failures: failures + 1, until: now + backOffDelayMs(failures + 1, random) };
}

/** A time further away than any delay means that the clock was set back, and is not waited for. */
export function isBackingOff({ until }: BackOffState, now: number): boolean {
  return now < until && until <= now + durationMaxMs;
}
