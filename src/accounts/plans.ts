/**
 * What each plan allows, in one table; `docs/limits.md` says it in words. An allowance counts links by the hour
 * and belongs to the account (without a key: to the address), so a second key does not double it. A burst counts
 * requests by the minute and belongs to the address, so a hundred accounts on one machine are still one machine.
 * Invariant: one account can always spend its whole hour at once; a burst limit is never in its way alone.
 */
export const planNames = ['anonymous', 'free', 'verified', 'pro', 'unlimited'] as const;
export type PlanName = (typeof planNames)[number];

/** The plans that an account can have; `anonymous` is for callers without one. */
export const accountPlanNames = ['free', 'verified', 'pro', 'unlimited'] as const satisfies PlanName[];

/** So many in so long, evenly refilled. */
export interface Rate {
  readonly count: number;
  readonly periodMs: number;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const perMinute = (count: number): Rate => ({ count, periodMs: minuteMs });
const perHour = (count: number): Rate => ({ count, periodMs: hourMs });

/** Every rate that an operator can change, by the name that the `limits` setting knows it under. */
export const defaultRates = {
  anonymous: perHour(5),
  free: perHour(100),
  verified: perHour(100),
  pro: perHour(10_000),
  standardBurst: perMinute(10),
  verifiedBurst: perMinute(100),
  report: perHour(20),
  signIn: perMinute(10),
  signUp: perHour(10),
  // More than anyone mistypes; a ten-thousandth of what guessing at a password of twelve characters needs.
  signInAccount: perHour(30),
  signInDevice: perHour(30),
  currentPassword: perHour(30),
} as const satisfies Readonly<Record<string, Rate>>;

export type RateName = keyof typeof defaultRates;
export const rateNames = Object.keys(defaultRates) as readonly RateName[];

/** The rates in force; null where the operator has switched a limit off. */
export type Rates = Readonly<Record<RateName, Rate | null>>;

export interface Plan {
  /** Links that the account, or the anonymous address, may make. Null: as many as it likes. */
  readonly allowance: RateName | null;
  /** Requests that an address may send on this plan. */
  readonly burst: RateName | null;
  readonly customAliases: boolean;
}

export const plans: Readonly<Record<PlanName, Plan>> = {
  anonymous: { allowance: 'anonymous', burst: 'standardBurst', customAliases: false },
  free: { allowance: 'free', burst: 'standardBurst', customAliases: true },
  verified: { allowance: 'verified', burst: 'verifiedBurst', customAliases: true },
  pro: { allowance: 'pro', burst: 'verifiedBurst', customAliases: true },
  unlimited: { allowance: null, burst: null, customAliases: true },
};

/**
 * How many accounts may spend their hour from one address before the burst limit slows them: an office behind
 * one address is not held up, a farm of accounts is held to the burst rate.
 */
export const accountsPerAddress = 10;
