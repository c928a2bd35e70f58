/**
 * What is known about where a link leads: whether somebody still answers there. It is told to the owner and changes
 * nothing about the redirect, because a visitor may reach what our check did not.
 */
import { createHash } from 'node:crypto';
import type { Link } from '../links/link.ts';

/** Why nobody answered: the name, the address, the connection, the certificate, in time, or in HTTP. */
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
  /** Which destination was asked: of a link that leads elsewhere by now nothing is known. */
  readonly destination: string;
  readonly checkedAt: number;
  /** Since when every check has failed; null when the last one did not. */
  readonly failingSince: number | null;
  /** What the destination answered with; null when it did not. */
  readonly httpStatus: number | null;
  readonly reason: Silence | null;
}

export const destinationOf = (longUrl: string): string =>
  createHash('sha256').update(longUrl).digest('base64url').slice(0, 22);

/**
 * Gone, or broken. Whoever asks for a password, forbids robots or asks for patience is there, and so is whoever sends
 * visitors on.
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
