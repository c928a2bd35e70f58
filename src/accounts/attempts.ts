/**
 * How often a password may be guessed, beside the limit by address that every attempt has met before. Strangers must
 * not be able to lock an account's owner out, so they share a limit that the owner's known devices do not draw from.
 * The owner may also come with a new device while strangers guess: the first attempts from each network have a share
 * of their own, out of a total so large that it takes hundreds of networks to use it up.
 * Every attempt counts, also the right one, and also for an e-mail address without an account: a refusal tells nothing.
 */
import type { Clock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import type { Account } from './account.ts';
import type { PlanName, Rate, Rates } from './plans.ts';
import type { RateLimiter, Spending } from './rate-limit.ts';
import { hashSecret } from './secrets.ts';

/** Where an attempt comes from. */
export interface AttemptOrigin {
  /** Addresses that count as one. */
  readonly network: string;
  /** Of a device that the account is known to have signed in with. */
  readonly deviceId: string | undefined;
}

/** Both throw `rate_limited` when there were too many lately. */
export interface Attempts {
  signIn(email: string, origin: AttemptOrigin): Promise<void>;
  /** Counted apart from signing in, so that strangers who guess there keep no owner from changing a password. */
  currentPassword(account: Pick<Account, 'id' | 'plan'>): Promise<void>;
}

export interface AttemptsOptions {
  readonly limiter: RateLimiter;
  readonly rates: Pick<Rates, 'signInAccount' | 'signInDevice' | 'currentPassword'>;
  readonly clock: Clock;
  readonly onLimited: (plan: PlanName, kind: string) => void;
}

/** Of what strangers may try at an account, as a share of `signInAccount`: by default 2, 300 and 15 an hour. */
const networkShare = 1 / 15;
const allShares = 10;
const networkMax = 1 / 2;

export function createAttempts({ limiter, rates, clock, onLimited }: AttemptsOptions): Attempts {
  const waitMs = async (...spendings: Spending[]): Promise<number> =>
    (await limiter.take(spendings, clock.now())).retryAfterMs;

  return {
    async signIn(email, { network, deviceId }) {
      // The e-mail address is personal data, and may be long.
      const of = hashSecret(email).slice(0, 32);
      if (deviceId !== undefined) {
        const rate = rates.signInDevice;
        const deviceWaitMs = rate === null ? 0 : await waitMs(one(rate, `device ${of} ${deviceId}`));
        if (deviceWaitMs === 0) return;
        onLimited('anonymous', 'signInDevice');
        throw tooMany('Too many attempts to sign in from this browser', deviceWaitMs);
      }
      const rate = rates.signInAccount;
      if (rate === null) return;
      const shareWaitMs = await waitMs(
        one(scaled(rate, networkShare), `share ${of} ${network}`),
        one(scaled(rate, allShares), `shares ${of}`),
      );
      if (shareWaitMs === 0) return;
      const accountWaitMs = await waitMs(
        one(scaled(rate, networkMax), `network ${of} ${network}`),
        one(rate, `attempts ${of}`),
      );
      if (accountWaitMs === 0) return;
      onLimited('anonymous', 'signInAccount');
      throw tooMany(
        'Too many attempts to sign in to this account',
        Math.min(shareWaitMs, accountWaitMs),
        'Browsers that have signed in to it before and API keys still work.',
      );
    },

    async currentPassword({ id, plan }) {
      const rate = rates.currentPassword;
      const ownWaitMs = rate === null ? 0 : await waitMs(one(rate, `current password ${id}`));
      if (ownWaitMs === 0) return;
      onLimited(plan, 'currentPassword');
      throw tooMany('Too many attempts at your current password', ownWaitMs);
    },
  };
}

const one = (rate: Rate, key: string): Spending => ({ key, rate, capacity: rate.count, cost: 1 });

const scaled = ({ count, periodMs }: Rate, factor: number): Rate => ({
  count: Math.ceil(count * factor),
  periodMs,
});

function tooMany(what: string, retryAfterMs: number, otherwise = ''): Problem {
  const seconds = Math.ceil(retryAfterMs / 1_000);
  const wait = seconds < 120 ? `${seconds} seconds` : `${Math.ceil(seconds / 60)} minutes`;
  return new Problem('rate_limited', {
    detail: `${what}; try again in ${wait}. ${otherwise}`.trimEnd(),
    fields: { retryAfter: seconds },
    headers: { 'Retry-After': String(seconds) },
  });
}
