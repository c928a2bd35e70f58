/**
 * What is known about a link's destination: whether it still answers. It is shown to the owner and does not change the
 * redirect, because a visitor may reach a server that our check did not.
 */
import { createHash } from 'node:crypto';
import type { Link } from '../links/link.ts';

/** Why there was no answer: the name, the address, the connection, the certificate, the timeout, or HTTP. */
export const silences = [
  'no_such_name',
  'not_public',
  'no_connection',
  'bad_certificate',
  'too_slow',
  'no_http',
] as const;
export type Silence = (typeof silences)[number];

export type Outcome =
  | { readonly kind: 'answered'; readonly status: number }
  | { readonly kind: 'silent'; readonly reason: Silence };

export interface HealthRecord {
  readonly code: string;
  /** The destination that was checked: when a link leads elsewhere by now, its health is unknown. */
  readonly destination: string;
  readonly checkedAt: number;
  /** Since when every check has failed; null when the last one succeeded. */
  readonly failingSince: number | null;
  /** The status of the response; null when there was none. */
  readonly httpStatus: number | null;
  readonly reason: Silence | null;
}

export const destinationOf = (longUrl: string): string =>
  createHash('sha256').update(longUrl).digest('base64url').slice(0, 22);

/**
 * Gone, or broken. A server that asks for a password, forbids robots, throttles or redirects is up.
 */
export const isFailure = (outcome: Outcome): boolean =>
  outcome.kind === 'silent' || outcome.status === 404 || outcome.status === 410 || outcome.status >= 500;

export function recordOf(
  { code, longUrl }: Pick<Link, 'code' | 'longUrl'>,
  outcome: Outcome,
  before: HealthRecord | undefined,
  now: number,
): HealthRecord {
  const destination = destinationOf(longUrl);
  const failedBefore = before?.destination === destination ? before.failingSince : null;
  return {
    code,
    destination,
    checkedAt: now,
    failingSince: isFailure(outcome) ? (failedBefore ?? now) : null,
    httpStatus: outcome.kind === 'answered' ? outcome.status : null,
    reason: outcome.kind === 'silent' ? outcome.reason : null,
  };
}

/** Stores the results of checks, and whose turn it is to check. */
export interface HealthStore {
  /** One per code, in their order; undefined where nothing is known. */
  find(codes: readonly string[]): Promise<(HealthRecord | undefined)[]>;
  /** Each replaces the previous result of its link, and expires after `keepMs` unless it is replaced. */
  save(records: readonly HealthRecord[], now: number, keepMs: number): Promise<void>;
  /**
   * Takes or keeps the turn for a runner, until progress is noted again or `turnMs` have passed. Returns the position
   * of the walk; undefined while another runner has the turn.
   */
  takeTurn(runner: string, now: number, turnMs: number): Promise<WalkPosition | undefined>;
  /** Saves the position of the walk. False, and nothing is saved, when another runner has the turn by now. */
  noteTurn(runner: string, position: WalkPosition): Promise<boolean>;
}

/** A walk goes over all links in rounds. */
export interface WalkPosition {
  /** When the round began; 0 before the first. */
  readonly roundAt: number;
  /** Where the next page starts; null when the round is over. */
  readonly cursor: string | null;
}

export const walkStart: WalkPosition = { roundAt: 0, cursor: null };
