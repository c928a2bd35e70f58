/**
 * The plans of the accounts that links belong to, for whoever cannot wait to be told. An account that was not
 * asked for lately is looked up in the background, and until then its plan is unknown.
 * Invariant: an answer is `freshMs` old at most, plus the time that a lookup takes; lookups are few at a time.
 */
import type { Clock } from '../base/clock.ts';
import type { Account } from './account.ts';
import type { PlanName } from './plans.ts';

export const freshMs = 60_000;
const ownersMax = 20_000;
const lookupsMax = 32;

interface Known {
  readonly plan: PlanName | undefined;
  readonly untilMs: number;
}

export interface OwnerPlansOptions {
  readonly findAccount: (id: string) => Promise<Account | undefined>;
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
