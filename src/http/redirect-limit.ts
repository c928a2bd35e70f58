/**
 * How often one address may follow links: any at all, or those that belong to accounts on a certain plan. Off
 * unless the operator sets it. Each process counts for itself, in memory, because a redirect waits for nobody.
 * Invariant: nothing here throws, waits or grows without bound; switched off it costs a comparison.
 */
import { BucketTable } from '../accounts/bucket-table.ts';
import type { PlanName, Rate } from '../accounts/plans.ts';
import type { Spending } from '../accounts/rate-limit.ts';
import type { VisitRates } from '../accounts/rate-text.ts';
import { byAddress, oneOf, wholeSeconds } from './spending.ts';

/** Some ten megabytes. */
const bucketsMax = 50_000;

export interface RedirectLimit {
  /**
   * Takes one visit of this address to a link of this owner, null for a link without one: 0 when it may go on, or
   * the seconds to wait.
   */
  allows(address: string, nowMs: number, ownerId: string | null): number;
  /** How often the answer was to wait. */
  readonly limited: number;
}

/** `planOf` answers from memory; an owner whose plan it does not know yet is not limited by it. */
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
