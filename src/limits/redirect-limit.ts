/**
 * The limits of visitors: how often one address may follow links (off unless the operator sets it), and how often it
 * may guess codes. Each process counts separately, in memory, because a redirect must not wait.
 * Invariant: nothing here throws, waits or grows without bound; switched off it costs a comparison.
 */
import type { Clock } from '../base/clock.ts';
import { BucketTable } from './bucket.ts';
import type { PlanName, Rate, VisitRates } from './plans.ts';
import { byAddress, oneOf, type Spending, wholeSeconds } from './rate-limit.ts';

/** About ten megabytes. */
const bucketsMax = 50_000;

export interface RedirectLimit {
  /**
   * Counts a visit from this address to a link of this owner, if it has one. Returns the seconds to wait; 0 if allowed.
   */
  allows(address: string, nowMs: number, ownerId: string | null): number;
  /** How often an address had to wait. */
  readonly limited: number;
  /** Whether everyone may follow links as often as they like. */
  readonly isOff: boolean;
}

/** `planOf` answers from memory; an owner whose plan it does not know yet is not limited by plan. */
export function createRedirectLimit(
  { everyone, byPlan }: VisitRates,
  planOf: (ownerId: string | null) => PlanName | undefined,
): RedirectLimit {
  const buckets = new BucketTable(bucketsMax);
  const hasPlans = Object.values(byPlan).some(rate => rate !== null);
  const isOff = everyone === null && !hasPlans;
  let limited = 0;

  const rateOf = (plan: PlanName | undefined): Rate | null => (plan && byPlan[plan]) ?? null;
  const spendingsOf = (address: string, plan: PlanName | undefined): Spending[] => {
    const ofPlan = rateOf(plan);
    return [
      ...(everyone === null ? [] : byAddress(oneOf(everyone, 'visit'), address)),
      ...(ofPlan === null ? [] : byAddress(oneOf(ofPlan, `visit ${plan}`), address)),
    ];
  };

  return {
    isOff,
    get limited() {
      return limited;
    },
    allows(address, nowMs, ownerId) {
      if (isOff) return 0;
      const plan = hasPlans ? planOf(ownerId) : undefined;
      const { retryAfterMs } = buckets.take(spendingsOf(address, plan), nowMs);
      if (retryAfterMs > 0) limited += 1;
      return wholeSeconds(retryAfterMs);
    },
  };
}

/**
 * The plans of the accounts that links belong to, for callers that cannot wait for a lookup. An account that is not in
 * memory is looked up in the background; until then its plan is unknown.
 * Invariant: an answer is `freshMs` old at most, plus the time that a lookup takes; lookups are few at a time.
 */
export const freshMs = 60_000;
const ownersMax = 20_000;
const lookupsMax = 32;

interface Known {
  readonly plan: PlanName | undefined;
  readonly untilMs: number;
}

export interface OwnerPlansOptions {
  readonly findAccount: (id: string) => Promise<{ readonly plan: PlanName } | undefined>;
  readonly clock: Clock;
}

/** Null is the owner of links that were made without an account. */
export function createOwnerPlans({ findAccount, clock }: OwnerPlansOptions) {
  const known = new Map<string, Known>();
  const lookups = new Set<string>();

  const note = (ownerId: string, plan: PlanName | undefined): void => {
    if (known.size >= ownersMax) known.clear();
    known.set(ownerId, { plan, untilMs: clock.monotonicMs() + freshMs });
  };
  const lookUp = (ownerId: string): void => {
    if (lookups.has(ownerId) || lookups.size >= lookupsMax) return;
    lookups.add(ownerId);
    findAccount(ownerId)
      .then(account => note(ownerId, account?.plan))
      .catch(() => undefined)
      .finally(() => lookups.delete(ownerId));
  };

  return (ownerId: string | null): PlanName | undefined => {
    if (ownerId === null) return 'anonymous';
    const entry = known.get(ownerId);
    if (entry === undefined || entry.untilMs <= clock.monotonicMs()) lookUp(ownerId);
    return entry?.plan;
  };
}

/** Addresses kept in memory at once, about ten megabytes. */
const addressesMax = 50_000;

/**
 * Slows down clients that guess codes: after a number of codes that do not exist an address has to wait, and the store
 * is not queried. A client that follows existing links spends nothing here.
 */
export interface ProbingGuard {
  /** Seconds to wait before this address may request codes that are not in memory; 0 for no wait. */
  isSlowed(address: string, nowMs: number): number;
  /** This address requested a code that is well-formed and does not exist. */
  noteMissing(address: string, nowMs: number): void;
  /** How often an address had to wait. */
  readonly slowed: number;
}

/** Without a rate, no address is slowed. */
export function createProbingGuard(rate: Rate | null): ProbingGuard {
  const buckets = new BucketTable(addressesMax);
  let slowed = 0;
  const spendingsOf = (address: string, each: Rate) => byAddress(oneOf(each, 'probe'), address);
  return {
    get slowed() {
      return slowed;
    },
    isSlowed(address, nowMs) {
      if (rate === null || buckets.size === 0) return 0;
      const waitMs = buckets.waitMs(spendingsOf(address, rate), nowMs);
      if (waitMs > 0) slowed += 1;
      return wholeSeconds(waitMs);
    },
    noteMissing(address, nowMs) {
      if (rate !== null) buckets.take(spendingsOf(address, rate), nowMs);
    },
  };
}
