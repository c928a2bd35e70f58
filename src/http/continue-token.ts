/**
 * Proof that a visitor has seen the warning about a quarantined link: bound to the link's code and version, signed with
 * a key of the installation, good for a few minutes, and in no cookie. A change of the link makes a new version, and
 * with it a new warning.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { deriveKey } from '../codes/derived-key.ts';

export interface ContinueTokens {
  issue(code: string, version: number): string;
  accepts(token: string, code: string, version: number): boolean;
}

const lifeS = 10 * 60;
const signatureBytes = 16;

/** Stands in the query of the short URL; what a link passes on to its destination is free of it. */
export const continueParameter = 'terse-continue';

export function createContinueTokens(secret: Uint8Array, clock: Clock): ContinueTokens {
  const key = deriveKey(secret, 'continue to a quarantined link');
  const nowS = (): number => Math.floor(clock.now() / 1_000);
  const signature = (code: string, version: number, endS: number): Buffer =>
    createHmac('sha256', key).update(`${code} ${version} ${endS}`).digest().subarray(0, signatureBytes);

  return {
    issue(code, version) {
      const endS = nowS() + lifeS;
      return `${endS.toString(36)}.${signature(code, version, endS).toString('base64url')}`;
    },
    accepts(token, code, version) {
      const [, digits, given] = /^([0-9a-z]{1,9})\.([0-9A-Za-z_-]{22})$/.exec(token) ?? [];
      if (digits === undefined || given === undefined) return false;
      const endS = Number.parseInt(digits, 36);
      // One from the far future was never issued, whatever its signature says.
      if (endS <= nowS() || endS > nowS() + lifeS) return false;
      return timingSafeEqual(Buffer.from(given, 'base64url'), signature(code, version, endS));
    },
  };
}

export interface SplitQuery {
  /** As it was sent, but for our parameter. */
  readonly query: string;
  readonly token: string | undefined;
}

/** The visitor's query to the letter, because destinations tell `%20` from `+`. */
export function splitQuery(query: string): SplitQuery {
  if (!query.includes(continueParameter)) return { query, token: undefined };
  const prefix = `${continueParameter}=`;
  const parts = query.split('&');
  const token = parts.findLast(part => part.startsWith(prefix))?.slice(prefix.length);
  return { query: parts.filter(part => !part.startsWith(prefix)).join('&'), token };
}
