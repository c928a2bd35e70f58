/** The limits of this process: what they are, where they are counted, and the numbers they leave behind. */
import { join } from 'node:path';
import { createFallbackLimiter, type FallbackLimiter } from '../accounts/fallback-limiter.ts';
import { createMemoryLimiter } from '../accounts/limiters/memory.ts';
import type { SqliteBucketsOptions } from '../accounts/limiters/sqlite/buckets.ts';
import { createSqliteLimiter } from '../accounts/limiters/sqlite/limiter.ts';
import { createOwnerPlans } from '../accounts/owner-plans.ts';
import type { Rates } from '../accounts/plans.ts';
import type { RateLimiter } from '../accounts/rate-limit.ts';
import { parseRate, ratesWith, visitRates } from '../accounts/rate-text.ts';
import type { AccountStore } from '../accounts/store.ts';
import type { Clock } from '../base/clock.ts';
import { createLimitGuard, type LimitGuard } from '../http/limits.ts';
import { createProbingGuard, type ProbingGuard } from '../http/probing.ts';
import { createRedirectLimit, type RedirectLimit } from '../http/redirect-limit.ts';
import { describeFailure, type Log } from '../ops/log.ts';
import { LabelledCounter, type Metric } from '../ops/metrics.ts';
import type { Config } from './config.ts';
import { unchanged } from './limit-settings.ts';

/** How long the thread waits for other processes; less than the limiter waits for the thread. */
const busyMaxMs = 1_000;

export interface LimitsOptions {
  readonly config: Pick<Config, 'limits' | 'redirectLimit' | 'probeLimit' | 'links' | 'data'>;
  readonly accounts: Pick<AccountStore, 'findAccount'>;
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
  metrics(): Metric[];
  close(): Promise<void>;
}

export function startLimits({ config, accounts, secret, clock, log }: LimitsOptions): Limits {
  const limited = new LabelledCounter<string>();
  const shared = config.links === 'memory' ? undefined : sharedLimiter(config.data, secret, clock, log);
  const limiter: RateLimiter = shared ?? createMemoryLimiter();
  const findAccount = (id: string) => accounts.findAccount(id);
  const redirects = createRedirectLimit(
    visitRates(config.redirectLimit),
    createOwnerPlans({ findAccount, clock }),
  );
  const probing = createProbingGuard(parseRate(config.probeLimit));
  const changes = config.limits.filter(item => item !== unchanged);
  const rates = ratesWith(changes);
  const guard = createLimitGuard({
    limiter,
    rates,
    clock,
    onLimited: (plan, kind) => limited.add(`${plan} ${kind}`),
  });
  return {
    limiter,
    rates,
    guard,
    redirects,
    probing,
    metrics: () => [
      {
        name: 'terse_rate_limited_total',
        type: 'counter',
        help: 'Requests refused by a limit, by plan and kind.',
        samples: [
          ...limited.samples('limit').map(({ labels, value }) => {
            const [plan = '', kind = ''] = String(labels?.limit).split(' ');
            return { labels: { plan, kind }, value };
          }),
          { labels: { plan: 'anonymous', kind: 'redirect' }, value: redirects.limited },
          { labels: { plan: 'anonymous', kind: 'probe' }, value: probing.slowed },
        ],
      },
      {
        name: 'terse_limits_alone_total',
        type: 'counter',
        help: 'Limited requests decided without the other processes, because the shared limits failed.',
        samples: [{ value: shared?.alone ?? 0 }],
      },
    ],
    close: () => limiter.close(),
  };
}

function sharedLimiter(dataFolder: string, secret: Uint8Array, clock: Clock, log: Log): FallbackLimiter {
  const options: SqliteBucketsOptions = { path: join(dataFolder, 'limits.db'), secret, busyMaxMs };
  const startThread = (): Worker => {
    const worker = new Worker(new URL('./limit-thread.ts', import.meta.url));
    worker.postMessage(options);
    return worker;
  };
  return createFallbackLimiter({
    shared: createSqliteLimiter(startThread),
    own: createMemoryLimiter(),
    clock,
    onFailure: error =>
      log.error('the shared limits failed; this process counts alone for now', {
        failure: describeFailure(error),
      }),
  });
}
