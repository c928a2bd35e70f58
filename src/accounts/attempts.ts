/**
 * How often a password may be guessed, in addition to the limit per address that every attempt has already passed.
 * Strangers must not be able to lock an account's owner out, so they share a limit that the owner's known devices do
 * not draw from. The owner may also use a new device while strangers guess: the first attempts from each network have
 * their own share, out of a total so large that it takes hundreds of networks to use it up. Every password that is
 * checked counts, even the right one, and even for an e-mail address without an account: a rejection reveals nothing.
 * An attempt rejected before the check, by a limit or by a full queue, does not count.
 */
import type { Clock } from '../base/clock.ts';
import type { Problem } from '../base/errors.ts';
import type { PlanName, Rate, Rates } from '../limits/plans.ts';
import {
  type BucketState,
  type RateLimiter,
  rateLimited,
  type Spending,
  wholeSeconds,
} from '../limits/rate-limit.ts';
import type { Account } from './account.ts';
import { hashSecret } from './secrets.ts';

/** Where an attempt comes from. */
export interface AttemptOrigin {
  /** Addresses that count as one. */
  readonly network: string;
  /** For a device that has signed in to the account before. */
  readonly deviceId: string | undefined;
}

/**
 * Both throw `rate_limited` when too many were made recently. Call the returned function just before the password is
 * checked: it counts the attempt, or throws the same if other attempts were quicker.
 */
export interface Attempts {
  signIn(email: string, origin: AttemptOrigin): Promise<() => Promise<void>>;
  /** Counted separately from signing in, so that strangers who guess there do not block a password change. */
  currentPassword(account: Pick<Account, 'id' | 'plan'>): Promise<() => Promise<void>>;
}

export interface AttemptsOptions {
  readonly limiter: RateLimiter;
  readonly rates: Pick<Rates, 'signInAccount' | 'signInDevice' | 'currentPassword'>;
  readonly clock: Clock;
  readonly onLimited: (plan: PlanName, kind: string) => void;
}

// Limits of strangers as multiples of `signInAccount`: by default 2 per network and 300 in all, and once these are
// used up, 15 per network out of the 30 of the account.
const networkShare = 1 / 15;
const allShares = 10;
const networkMax = 1 / 2;

/** Buckets that one attempt takes from, all or none. */
type Way = readonly Spending[];

export function createAttempts({ limiter, rates, clock, onLimited }: AttemptsOptions): Attempts {
  const take = async (way: Way): Promise<number> => (await limiter.take(way, clock.now())).retryAfterMs;
  const look = async (way: Way): Promise<number> => {
    const free = way.map(spending => ({ ...spending, cost: 0 }));
    const { buckets } = await limiter.take(free, clock.now());
    return Math.max(...way.map((spending, index) => waitOf(spending, buckets[index]!)));
  };
  /** Takes from the first way whose buckets have enough left; without a rate there is no limit. */
  const attempt = async (
    rate: Rate | null,
    waysOf: (rate: Rate) => readonly Way[],
    refusalOf: (retryAfterMs: number) => Problem,
  ): Promise<() => Promise<void>> => {
    if (rate === null) return async () => {};
    const findOpen = async (waitFor: (way: Way) => Promise<number>): Promise<void> => {
      const waitsMs: number[] = [];
      for (const way of waysOf(rate)) {
        const waitMs = await waitFor(way);
        if (waitMs === 0) return;
        waitsMs.push(waitMs);
      }
      throw refusalOf(Math.min(...waitsMs));
    };
    await findOpen(look);
    return () => findOpen(take);
  };

  return {
    signIn(email, { network, deviceId }) {
      // The e-mail address is personal data, and may be long.
      const of = hashSecret(email).slice(0, 32);
      if (deviceId !== undefined) {
        const waysOf = (rate: Rate): Way[] => [[one(rate, `device ${of} ${deviceId}`)]];
        return attempt(rates.signInDevice, waysOf, waitMs => {
          onLimited('anonymous', 'signInDevice');
          return rateLimited(wholeSeconds(waitMs), {
            what: 'Too many attempts to sign in from this browser',
            limit: 'signInDevice',
          });
        });
      }
      const waysOf = (rate: Rate): Way[] => [
        [
          one(scaled(rate, networkShare), `share ${of} ${network}`),
          one(scaled(rate, allShares), `shares ${of}`),
        ],
        [one(scaled(rate, networkMax), `network ${of} ${network}`), one(rate, `attempts ${of}`)],
      ];
      return attempt(rates.signInAccount, waysOf, waitMs => {
        onLimited('anonymous', 'signInAccount');
        return rateLimited(wholeSeconds(waitMs), {
          what: 'Too many attempts to sign in to this account',
          limit: 'signInAccount',
          otherwise: 'Browsers that have signed in to it before and API keys still work.',
        });
      });
    },

    currentPassword({ id, plan }) {
      const waysOf = (rate: Rate): Way[] => [[one(rate, `current password ${id}`)]];
      return attempt(rates.currentPassword, waysOf, waitMs => {
        onLimited(plan, 'currentPassword');
        return rateLimited(wholeSeconds(waitMs), {
          what: 'Too many attempts at your current password',
          limit: 'currentPassword',
        });
      });
    },
  };
}

/** How long one attempt would have to wait for a bucket. */
function waitOf({ rate, capacity }: Spending, { fullAfterMs }: BucketState): number {
  return Math.max(0, Math.ceil(fullAfterMs - ((capacity - 1) * rate.periodMs) / rate.count));
}

const one = (rate: Rate, key: string): Spending => ({ key, rate, capacity: rate.count, cost: 1 });

const scaled = ({ count, periodMs }: Rate, factor: number): Rate => ({
  count: Math.ceil(count * factor),
  periodMs,
});
