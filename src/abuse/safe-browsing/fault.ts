/** How an exchange with a Safe Browsing server fails, and how long to back off then. */
import type { Random } from '../../base/random.ts';

/** Why an exchange with a Safe Browsing server failed. The response readers throw nothing else. */
export type FaultKind =
  /** The server answered with a status other than 200. */
  | 'status'
  /** No answer came: the connection failed or broke. */
  | 'unreachable'
  | 'timeout'
  /** The response is not what was requested: another type, truncated, or malformed. */
  | 'content_type'
  | 'too_large'
  | 'malformed'
  /** The updated lists do not match the server's checksum. */
  | 'mismatch';

export class SafeBrowsingFault extends Error {
  override readonly name = 'SafeBrowsingFault';
  readonly kind: FaultKind;

  constructor(kind: FaultKind, message: string) {
    super(message);
    this.kind = kind;
  }
}

export const malformed = (message: string): SafeBrowsingFault => new SafeBrowsingFault('malformed', message);

/** Longer times than this are not trusted, whatever their source. */
export const durationMaxMs = 24 * 60 * 60_000;
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

/** A time that is further ahead than any delay means that the clock was set back, and is ignored. */
export function isBackingOff({ until }: BackOffState, now: number): boolean {
  return now < until && until <= now + durationMaxMs;
}
