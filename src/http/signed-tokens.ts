/**
 * Tokens that are not stored: a subject and an end, signed with a key of the installation. To be revocable before its
 * end, a token includes in its subject something that can change, such as the version of a link.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { deriveKey } from '../codes/derived-key.ts';

export interface SignedTokens {
  issue(subject: string, endMs: number): string;
  /** Whether it was issued for this subject and has not ended. */
  accepts(token: string, subject: string): boolean;
}

interface SignedTokensOptions {
  readonly secret: Uint8Array;
  /** What the tokens are for; each purpose has its own key. */
  readonly label: string;
  readonly clock: Clock;
  readonly lifeMaxMs?: number;
}

const signatureBytes = 16;

export function createSignedTokens({
  secret,
  label,
  clock,
  lifeMaxMs = Number.POSITIVE_INFINITY,
}: SignedTokensOptions): SignedTokens {
  const key = deriveKey(secret, label);
  const signature = (subject: string, endS: number): Buffer =>
    createHmac('sha256', key).update(`${subject} ${endS}`).digest().subarray(0, signatureBytes);

  return {
    issue(subject, endMs) {
      const endS = Math.floor(endMs / 1_000);
      return `${endS.toString(36)}.${signature(subject, endS).toString('base64url')}`;
    },
    accepts(token, subject) {
      const [, digits, given] = /^([0-9a-z]{1,9})\.([0-9A-Za-z_-]{22})$/.exec(token) ?? [];
      if (digits === undefined || given === undefined) return false;
      const endS = Number.parseInt(digits, 36);
      const leftMs = endS * 1_000 - clock.now();
      // A token from the far future was never issued, even if its signature is valid.
      if (leftMs <= 0 || leftMs > lifeMaxMs) return false;
      return timingSafeEqual(Buffer.from(given, 'base64url'), signature(subject, endS));
    },
  };
}
