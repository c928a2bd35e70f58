import { closestName } from '../base/did-you-mean.ts';

/**
 * What each plan allows, in one table; `docs/limits.md` explains it. An allowance limits new links per hour and account
 * (without a key: per address), so a second key does not double it. A burst limits requests per minute and address, so
 * a hundred accounts on one machine count as one machine. Changes and expensive reads are limited per account, and for
 * each address to what ten accounts may do.
 * Invariant: one account alone can always spend its whole hour at once without reaching a burst limit.
 */
export const planNames = ['anonymous', 'free', 'verified', 'pro', 'unlimited'] as const;
export type PlanName = (typeof planNames)[number];

/** The plans that an account can have; `anonymous` is for callers without one. */
export const accountPlanNames = ['free', 'verified', 'pro', 'unlimited'] as const satisfies PlanName[];

/** A count per period, evenly refilled. */
export interface Rate {
  readonly count: number;
  readonly periodMs: number;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const perMinute = (count: number): Rate => ({ count, periodMs: minuteMs });
const perHour = (count: number): Rate => ({ count, periodMs: hourMs });
const perDay = (count: number): Rate => ({ count, periodMs: dayMs });

/** Every rate that an operator can change, by the name that the `limits` setting knows it under. */
export const defaultRates = {
  anonymous: perHour(5),
  free: perHour(100),
  verified: perHour(100),
  pro: perHour(10_000),
  standardBurst: perMinute(10),
  verifiedBurst: perMinute(100),
  // As many as the links that it may create in a day, so that each of them can be changed or deleted once.
  freeChanges: perDay(2_400),
  proChanges: perHour(10_000),
  anonymousReads: perMinute(60),
  // The dashboard reads 20,000 links in 200 of them.
  freeReads: perMinute(600),
  proReads: perMinute(6_000),
  aliasCheck: perMinute(60),
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

/** The active rates; null where the operator has switched a limit off. */
export type Rates = Readonly<Record<RateName, Rate | null>>;

export interface Plan {
  /** Links that the account, or the anonymous address, may make. Null: unlimited. */
  readonly allowance: RateName | null;
  /** Requests that an address may send on this plan. */
  readonly burst: RateName | null;
  /** What the account may change, apart from creating links. */
  readonly changes: RateName | null;
  /** Statistics, lists and the like. */
  readonly reads: RateName | null;
  readonly customAliases: boolean;
}

export const plans: Readonly<Record<PlanName, Plan>> = {
  anonymous: {
    allowance: 'anonymous',
    burst: 'standardBurst',
    // No route lets an anonymous client change anything; should one, it is limited like creating.
    changes: 'anonymous',
    reads: 'anonymousReads',
    customAliases: false,
  },
  free: {
    allowance: 'free',
    burst: 'standardBurst',
    changes: 'freeChanges',
    reads: 'freeReads',
    customAliases: true,
  },
  verified: {
    allowance: 'verified',
    burst: 'verifiedBurst',
    changes: 'freeChanges',
    reads: 'freeReads',
    customAliases: true,
  },
  pro: {
    allowance: 'pro',
    burst: 'verifiedBurst',
    changes: 'proChanges',
    reads: 'proReads',
    customAliases: true,
  },
  unlimited: { allowance: null, burst: null, changes: null, reads: null, customAliases: true },
};

/**
 * How many accounts may spend their hour from one address before the burst limit slows them: an office behind one
 * address is not slowed, a farm of accounts is limited to the burst rate.
 */
export const accountsPerAddress = 10;

/**
 * Rates as an operator writes them: `100/h`, or `off` for no limit; and changes to the table of plans, such as
 * `free=200/h,anonymous=off`. All input here is typed by hand, so a typo is reported, not guessed around.
 */
const unitMs = { s: 1_000, min: 60_000, h: 3_600_000, day: 86_400_000 } as const;
const countMax = 1_000_000;

/** The value of the setting `limits` that changes nothing. */
export const unchanged = 'default';
export const off = 'off';

/** A text that is no rate, with the reason. */
export class InvalidRate extends Error {
  override readonly name = 'InvalidRate';
}

/** Null for `off`. */
export function parseRate(text: string): Rate | null {
  if (text === off) return null;
  const [, count = '', unit = ''] = /^([1-9]\d{0,6})\/(s|min|h|day)$/.exec(text) ?? [];
  if (count === '' || Number(count) > countMax) throw new InvalidRate(`${text} is not a rate`);
  return { count: Number(count), periodMs: unitMs[unit as keyof typeof unitMs] };
}

/** The table of plans with the operator's changes; `off` alone switches every limit off. */
export function ratesWith(changes: readonly string[]): Rates {
  if (changes.length === 1 && changes[0] === off) {
    return Object.fromEntries(rateNames.map(name => [name, null])) as unknown as Rates;
  }
  return { ...defaultRates, ...Object.fromEntries(named(changes, rateNames)) } as Record<
    RateName,
    Rate | null
  >;
}

/** How often an address may follow links: any at all, and those of accounts on one plan. */
export interface VisitRates {
  readonly everyone: Rate | null;
  readonly byPlan: Partial<Readonly<Record<PlanName, Rate | null>>>;
}

/** A list with a rate for everyone, rates such as `anonymous=60/min` for the links of one plan, or both. */
export function visitRates(items: readonly string[]): VisitRates {
  const [everyone = off, ...more] = items.filter(item => !item.includes('='));
  if (more.length > 0) throw new InvalidRate(`${more[0]} is a second rate for everyone`);
  const byPlan = named(
    items.filter(item => item.includes('=')),
    planNames,
  );
  return { everyone: parseRate(everyone), byPlan: Object.fromEntries(byPlan) };
}

function named<Name extends string>(
  items: readonly string[],
  names: readonly Name[],
): Map<Name, Rate | null> {
  const rates = new Map<Name, Rate | null>();
  for (const item of items) {
    const [given = '', ...rest] = item.split('=');
    const name = names.find(candidate => candidate === given);
    if (name === undefined) {
      const close = closestName(given, names);
      throw new InvalidRate(`${given} has no limit${close === undefined ? '' : `: did you mean ${close}?`}`);
    }
    if (rates.has(name)) throw new InvalidRate(`${name} is set twice`);
    rates.set(name, parseRate(rest.join('=')));
  }
  return rates;
}
