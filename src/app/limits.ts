/** The limits of this process: what they are, where they are counted, and the numbers they leave behind. */
import { join } from 'node:path';
import { createFallbackLimiter, type FallbackLimiter } from '../accounts/fallback-limiter.ts';
import { createMemoryLimiter } from '../accounts/limiters/memory.ts';
import { createRedisLimiter } from '../accounts/limiters/redis/limiter.ts';
import type { SqliteBucketsOptions } from '../accounts/limiters/sqlite/buckets.ts';
import { createSqliteLimiter } from '../accounts/limiters/sqlite/limiter.ts';
import { createOwnerPlans } from '../accounts/owner-plans.ts';
import { type PlanName, type Rates, rateNames } from '../accounts/plans.ts';
import type { RateLimiter } from '../accounts/rate-limit.ts';
import { parseRate, ratesWith, visitRates } from '../accounts/rate-text.ts';
import type { AccountStore } from '../accounts/store.ts';
import type { Clock } from '../base/clock.ts';
import type { Redis } from '../engines/redis/redis.ts';
import { createLimitGuard, type LimitGuard } from '../http/limits.ts';
import { createProbingGuard, type ProbingGuard } from '../http/probing.ts';
import { createRedirectLimit, type RedirectLimit } from '../http/redirect-limit.ts';
import { describeFailure, type Log } from '../ops/log.ts';
import { LabelledCounter, type Metric } from '../ops/metrics.ts';
import type { Config } from './config.ts';
import { unchanged } from './limit-settings.ts';
import { metric, oneValue } from './metric-table.ts';

/** How long the thread waits for other processes; less than the limiter waits for the thread. */
const busyMaxMs = 1_000;

export interface LimitsOptions {
  readonly config: Pick<Config, 'limits' | 'redirectLimit' | 'probeLimit' | 'links' | 'data'>;
  readonly accounts: Pick<AccountStore, 'findAccount'>;
  /** Where processes of several machines count together, if there is one. */
  readonly redis?: Redis | undefined;
  readonly secret: Uint8Array;
  readonly clock: Clock;
  readonly log: Log;
}

export interface Limits {
  /** For limits that are known only to whoever sets them. */
  readonly limiter: RateLimiter;
  readonly rates: Rates;
  readonly guard: LimitGuard;
  readonly redirects: RedirectLimit;
  readonly probing: ProbingGuard;
  /** Counts a request that a limit refused which is not the guard's. */
  readonly noteLimited: (plan: PlanName, kind: string) => void;
  metrics(): Metric[];
  close(): Promise<void>;
}

export function startLimits(options: LimitsOptions): Limits {
  const { config, accounts, clock, log } = options;
  const limited = new LabelledCounter<string>();
  const shared = sharedLimiter(options);
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
  const guard = createLimitGuard({ limiter, rates, clock, onLimited: noteLimited });
  return {
    limiter,
    rates,
    guard,
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
      oneValue('terse_limits_alone_total', shared?.alone ?? 0),
    ],
    close: () => limiter.close(),
  };
}

/** Undefined when there is nobody to share with. */
function sharedLimiter({ config, redis, secret, clock, log }: LimitsOptions): FallbackLimiter | undefined {
  const shared =
    redis !== undefined
      ? createRedisLimiter(redis, { secret })
      : config.links === 'memory'
        ? undefined
        : embeddedLimiter(config.data, secret);
  if (shared === undefined) return undefined;
  return createFallbackLimiter({
    shared,
    own: createMemoryLimiter(),
    clock,
    onFailure: error =>
      log.error('the shared limits failed; this process counts alone for now', {
        failure: describeFailure(error),
      }),
  });
}

function embeddedLimiter(dataFolder: string, secret: Uint8Array): RateLimiter {
  const options: SqliteBucketsOptions = { path: join(dataFolder, 'limits.db'), secret, busyMaxMs };
  return createSqliteLimiter(() => {
    const worker = new Worker(new URL('./limit-thread.ts', import.meta.url));
    worker.postMessage(options);
    return worker;
  });
}
