/**
 * The limits of the API: which buckets a request takes from, and how the caller sees them. Creating counts links
 * against the account's allowance (without a key: the address's) and requests against the address's burst; changes and
 * expensive reads count against what the plan allows the account and, ten times that, its address; the others have one
 * rate for every address and account. An IPv6 address counts in its /64 and in its /48.
 * Invariant: the operator is never limited, whatever the settings or the state of the limiter.
 */
import type { Actor } from '../accounts/account.ts';
import type { Clock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import type { NowOrLater } from '../base/now-or-later.ts';
import { accountsPerAddress, type PlanName, plans, type Rate, type Rates } from '../limits/plans.ts';
import {
  type BucketState,
  byAddress,
  type LimitDecision,
  oneOf,
  type RateLimiter,
  rateLimited,
  type Spending,
  scaled,
  wholeSeconds,
} from '../limits/rate-limit.ts';
import type { Reply } from './json-reply.ts';

export const limitKinds = ['create', 'change', 'read', 'aliasCheck', 'report', 'signIn', 'signUp'] as const;
export type LimitKind = (typeof limitKinds)[number];

/** The RateLimit headers of every answer to a limited request; empty when nothing limits it. */
export type LimitHeaders = Readonly<Record<string, string>>;

export interface LimitGuard {
  /** Whether anything limits this caller; if not, its answers have no RateLimit headers. */
  applies(actor: Actor): boolean;
  /** Takes what the request costs, or throws `rate_limited`. With a cost of zero, it only reads the current state. */
  spend(kind: LimitKind, actor: Actor, address: string, cost: number): Promise<LimitHeaders>;
}

interface LimitGuardOptions {
  readonly limiter: RateLimiter;
  readonly rates: Rates;
  readonly clock: Clock;
  readonly onLimited: (plan: PlanName, kind: LimitKind) => void;
}

export function createLimitGuard({ limiter, rates, clock, onLimited }: LimitGuardOptions): LimitGuard {
  return {
    applies: actor => planOf(actor) !== 'unlimited',
    async spend(kind, actor, address, cost) {
      const plan = planOf(actor);
      if (plan === 'unlimited') return {};
      const spendings = spendingsOf(kind, actor, address, cost, rates);
      if (spendings.length === 0) return {};
      const decision = await limiter.take(spendings, clock.now());
      const headers = headersOf(spendings, decision);
      if (decision.allowed) return headers;
      onLimited(plan, kind);
      throw refusalOf(kind, spendings, decision, headers);
    },
  };
}

interface LimitedRequest {
  readonly kind: LimitKind;
  readonly actor: Actor;
  readonly address: string;
}

/**
 * Answers a limited request: `perform` says when and how much it spends. The answer always carries the state of the
 * limit, even when the request is rejected before anything was spent.
 */
export async function withinLimits(
  guard: LimitGuard,
  { kind, actor, address }: LimitedRequest,
  perform: (spend: (cost: number) => Promise<void>) => NowOrLater<Reply>,
): Promise<Reply> {
  let standing: LimitHeaders | undefined;
  const spend = async (cost: number): Promise<void> => {
    standing = {};
    standing = await guard.spend(kind, actor, address, cost);
  };
  try {
    const response = await perform(spend);
    for (const [name, value] of Object.entries(standing ?? {})) response.headers.set(name, value);
    return response;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    standing ??= await guard.spend(kind, actor, address, 0);
    // Other callers may get the same problem, such as those whose writes shared a commit.
    throw error.with({ headers: { ...error.headers, ...standing } });
  }
}

/** An admin is the operator, whichever plan its account is on. */
export function planOf(actor: Actor): PlanName {
  if (actor.kind === 'anonymous') return 'anonymous';
  return actor.isAdmin ? 'unlimited' : actor.plan;
}

function spendingsOf(kind: LimitKind, actor: Actor, address: string, cost: number, rates: Rates): Spending[] {
  if (kind === 'create') return creationSpendings(actor, address, cost, rates);
  const plan = planOf(actor);
  const name = kind === 'change' ? plans[plan].changes : kind === 'read' ? plans[plan].reads : kind;
  const rate = name && rates[name];
  if (rate === null) return [];
  const isByPlan = kind === 'change' || kind === 'read';
  if (actor.kind === 'anonymous') return byAddress({ ...oneOf(rate, kind), cost }, address);
  return [
    { ...oneOf(rate, `${kind} account ${actor.accountId}`), cost },
    ...(isByPlan
      ? byAddress({ ...oneOf(scaled(rate, accountsPerAddress), `${kind} ${plan}`), cost }, address)
      : byAddress({ ...oneOf(rate, kind), cost }, address)),
  ];
}

function creationSpendings(actor: Actor, address: string, cost: number, rates: Rates): Spending[] {
  const plan = planOf(actor);
  const { allowance, burst } = plans[plan];
  const perHour = allowance && rates[allowance];
  const perMinute = burst && rates[burst];
  const hour = (key: string): Spending[] => (perHour === null ? [] : [{ ...oneOf(perHour, key), cost }]);
  return [
    ...(actor.kind === 'account'
      ? hour(`account ${actor.accountId}`)
      : hour('address').flatMap(spending => byAddress(spending, address))),
    ...(perMinute === null
      ? []
      : byAddress(
          { ...burstBucket(actor, perHour, perMinute), key: plan, cost: Math.min(cost, 1) },
          address,
        )),
  ];
}

/**
 * Ten accounts can spend their hourly allowance from one address at once. Beyond that, all accounts of the address
 * share the refill rate, which is at least the rate of one account.
 */
function burstBucket(
  actor: Actor,
  perHour: Rate | null,
  perMinute: Rate,
): Pick<Spending, 'rate' | 'capacity'> {
  if (actor.kind === 'anonymous' || perHour === null) return { rate: perMinute, capacity: perMinute.count };
  const capacity = Math.max(perMinute.count, perHour.count * accountsPerAddress);
  const isEnough = perMinute.count * perHour.periodMs >= perHour.count * perMinute.periodMs;
  return { rate: isEnough ? perMinute : perHour, capacity };
}

/** The state of the bucket that matters: the one to wait for, or the one with the least left. */
function headersOf(spendings: readonly Spending[], { allowed, buckets }: LimitDecision): LimitHeaders {
  const [tightest] = buckets.toSorted(allowed ? byRemaining : byWait);
  const { limit, remaining, waitMs, fullAfterMs } = tightest!;
  return {
    'RateLimit-Limit': String(limit),
    'RateLimit-Remaining': String(remaining),
    'RateLimit-Reset': String(
      wholeSeconds(allowed || waitMs === Number.POSITIVE_INFINITY ? fullAfterMs : waitMs),
    ),
    'RateLimit-Policy': spendings.map(policyOf).join(', '),
  };
}

const byRemaining = (a: BucketState, b: BucketState): number => a.remaining - b.remaining;
const byWait = (a: BucketState, b: BucketState): number => b.waitMs - a.waitMs;

/** In words for the usual periods; an operator may have set any other. */
function perPeriod({ periodMs }: Rate): string {
  const named = { 60000: 'a minute', 3600000: 'an hour', 86400000: 'a day' }[periodMs];
  return named ?? `in ${wholeSeconds(periodMs)} s`;
}

function policyOf({ rate, capacity }: Spending): string {
  const policy = `${rate.count};w=${rate.periodMs / 1_000}`;
  return capacity === rate.count ? policy : `${policy};burst=${capacity}`;
}

/** The first words of the message to a limited caller. */
const limitedThings: Readonly<Record<LimitKind, string>> = {
  create: 'Too many new links',
  change: 'Too many changes',
  read: 'Too many requests',
  aliasCheck: 'Too many alias checks',
  report: 'Too many reports',
  signIn: 'Too many attempts to sign in from this network',
  signUp: 'Too many new accounts from this network',
};

function refusalOf(
  kind: LimitKind,
  spendings: readonly Spending[],
  { retryAfterMs, buckets }: LimitDecision,
  headers: LimitHeaders,
): Problem {
  const tooSmall = spendings.find(({ cost, capacity }) => cost > capacity);
  if (tooSmall !== undefined) {
    return new Problem('plan_too_small', {
      detail: `At most ${tooSmall.capacity} at a time; waiting does not help.`,
      fields: { limit: tooSmall.capacity },
      headers: { ...headers },
    });
  }
  const { rate } = spendings[buckets.indexOf(buckets.toSorted(byWait)[0]!)]!;
  const what = `${limitedThings[kind]}: ${rate.count} ${perPeriod(rate)} are allowed`;
  return rateLimited(wholeSeconds(retryAfterMs), { what, limit: kind, headers });
}
