/** The limits of this process: what they are, where they are counted, and their metrics. */
import type { Clock } from '../base/clock.ts';
import { withinDeadline } from '../base/deadline.ts';
import { describeFailure, type Log } from '../telemetry/log.ts';
import { metric, oneValue } from '../telemetry/metric-table.ts';
import { LabelledCounter, type Metric } from '../telemetry/metrics.ts';
import { createMemoryLimiter } from './bucket.ts';
import {
  type PlanName,
  parseRate,
  type Rates,
  rateNames,
  ratesWith,
  unchanged,
  visitRates,
} from './plans.ts';
import type { LimitDecision, RateLimiter, Spending } from './rate-limit.ts';
import {
  createOwnerPlans,
  createProbingGuard,
  createRedirectLimit,
  type ProbingGuard,
  type RedirectLimit,
} from './redirect-limit.ts';

export interface LimitsOptions {
  /** The settings of the same names. */
  readonly config: {
    readonly limits: readonly string[];
    readonly redirectLimit: readonly string[];
    readonly probeLimit: string;
  };
  readonly accounts: { findAccount(id: string): Promise<{ readonly plan: PlanName } | undefined> };
  /** Where processes count together; undefined when there is no process to share with. */
  readonly shared: RateLimiter | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

export interface Limits {
  /** For limits that only the component that sets them knows. */
  readonly limiter: RateLimiter;
  readonly rates: Rates;
  readonly redirects: RedirectLimit;
  readonly probing: ProbingGuard;
  /** Counts a request rejected by any limit but the probing guard. */
  readonly noteLimited: (plan: PlanName, kind: string) => void;
  metrics(): Metric[];
  close(): Promise<void>;
}

export function startLimits(options: LimitsOptions): Limits {
  const { config, accounts, clock, log } = options;
  const limited = new LabelledCounter<string>();
  const shared =
    options.shared &&
    createFallbackLimiter({
      shared: options.shared,
      own: createMemoryLimiter(),
      clock,
      onFailure: error =>
        log.error('the shared limits failed; this process counts by itself', {
          failure: describeFailure(error),
        }),
    });
  const limiter: RateLimiter = shared ?? createMemoryLimiter();
  const findAccount = (id: string) => accounts.findAccount(id);
  const redirects = createRedirectLimit(
    visitRates(config.redirectLimit),
    createOwnerPlans({ findAccount, clock }),
  );
  const probing = createProbingGuard(parseRate(config.probeLimit));
  const changes = config.limits.filter(item => item !== unchanged);
  const rates = ratesWith(changes);
  const switchedOff = rateNames.filter(name => rates[name] === null);
  if (switchedOff.length > 0) log.warn('rate limits are switched off', { limits: switchedOff.join(' ') });
  const noteLimited = (plan: PlanName, kind: string): void => limited.add(`${plan} ${kind}`);
  return {
    limiter,
    rates,
    redirects,
    probing,
    noteLimited,
    metrics: () => [
      metric('terse_rate_limited_total', [
        ...limited.samples('limit').map(({ labels, value }) => {
          const [plan = '', kind = ''] = String(labels?.limit).split(' ');
          return { labels: { plan, kind }, value };
        }),
        { labels: { plan: 'anonymous', kind: 'redirect' }, value: redirects.limited },
        { labels: { plan: 'anonymous', kind: 'probe' }, value: probing.slowed },
      ]),
      oneValue('terse_limits_local_total', shared?.alone ?? 0),
    ],
    close: () => limiter.close(),
  };
}

/**
 * Keeps limits working while the shared ones cannot be reached: each process then counts on its own. So a failure never
 * rejects a caller that would have been allowed, and never lifts all limits; at worst a caller gets its limit once from
 * each process. Invariant: a caller waits `waitMaxMs` at most, and after a failure no caller waits for `pauseMs`.
 */

interface FallbackOptions {
  readonly shared: RateLimiter;
  readonly own: RateLimiter;
  readonly clock: Clock;
  readonly onFailure: (error: unknown) => void;
}

export const waitMaxMs = 2_000;
export const pauseMs = 5_000;

export interface FallbackLimiter extends RateLimiter {
  /** Requests that were decided without the other processes. */
  readonly alone: number;
}

export function createFallbackLimiter({ shared, own, clock, onFailure }: FallbackOptions): FallbackLimiter {
  let alone = 0;
  let pausedUntilMs = Number.NEGATIVE_INFINITY;

  const late = () => new Error('the shared limits did not answer in time');
  const ask = (spendings: readonly Spending[], now: number): Promise<LimitDecision> =>
    withinDeadline(clock, waitMaxMs, shared.take(spendings, now), late);

  return {
    get alone() {
      return alone;
    },
    async take(spendings, now) {
      if (clock.monotonicMs() >= pausedUntilMs) {
        try {
          return await ask(spendings, now);
        } catch (error) {
          // Only the first of many waiting callers reports.
          if (clock.monotonicMs() >= pausedUntilMs) onFailure(error);
          pausedUntilMs = clock.monotonicMs() + pauseMs;
        }
      }
      alone += 1;
      return own.take(spendings, now);
    },
    async close() {
      await shared.close();
      await own.close();
    },
  };
}
