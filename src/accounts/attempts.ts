/**
 * Keeps whoever guesses at one account's password at bay, from however many addresses they come. Every attempt counts,
 * also the right one, and also for an address that nobody has: so the refusal tells nothing.
 */
import type { Clock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import type { Rate } from './plans.ts';
import type { RateLimiter } from './rate-limit.ts';
import { hashSecret } from './secrets.ts';

export interface Attempts {
  /** Throws `rate_limited` when there were too many lately. `whose` is the address given, or the account's id. */
  spend(whose: string): Promise<void>;
}

/** More than anyone mistypes; a ten-thousandth of what guessing at a password of twelve characters needs. */
const attemptsRate: Rate = { count: 30, periodMs: 60 * 60_000 };

export function createAttempts(limiter: RateLimiter, clock: Clock): Attempts {
  return {
    async spend(whose) {
      // The address itself is nobody's business where limits are kept.
      const key = `attempts ${hashSecret(whose).slice(0, 32)}`;
      const spending = { key, rate: attemptsRate, capacity: attemptsRate.count, cost: 1 };
      const { allowed, retryAfterMs } = await limiter.take([spending], clock.now());
      if (allowed) return;
      const seconds = Math.ceil(retryAfterMs / 1_000);
      throw new Problem('rate_limited', {
        detail: `There were too many attempts at this password; try again in ${seconds} seconds.`,
        fields: { retryAfter: seconds },
        headers: { 'Retry-After': String(seconds) },
      });
    },
  };
}
