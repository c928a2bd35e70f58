/**
 * Whether the engines that the settings name answer. Nobody is asked for this: each part knows it from its own work, and
 * says what it last saw.
 */
import type { Redis } from '../engines/redis/redis.ts';
import type { Metric, Sample } from '../ops/metrics.ts';
import type { Clicks } from './clicks.ts';
import type { Config } from './config.ts';
import { metric, oneValue } from './metric-table.ts';
import type { Stores } from './stores.ts';

export interface EngineHealthParts {
  readonly config: Pick<Config, 'links' | 'stream' | 'stats'>;
  readonly stores: Pick<Stores, 'pool'>;
  /** How long ago the store last proved that it answers. */
  readonly storeSilentMs: number;
  readonly redis: Pick<Redis, 'figures'> | undefined;
  readonly clicks: Pick<Clicks, 'latest'> | undefined;
}

/** The change feed is read at least once a second, and a call gives up before this. */
const silenceMaxMs = 5_000;

export function engineMetrics({ config, stores, storeSilentMs, redis, clicks }: EngineHealthParts): Metric[] {
  const pool = stores.pool?.();
  const up = (part: string, engine: string, isUp: boolean): Sample => ({
    labels: { part, engine },
    value: Number(isUp),
  });
  const { thread, counting } = clicks?.latest ?? {};
  const isCounted = thread !== undefined && config.stream === 'embedded';
  return [
    metric('terse_engine_up', [
      up('links', engineOf(config.links), storeSilentMs < silenceMaxMs),
      ...(redis === undefined ? [] : [up('cache', 'redis', redis.figures.serversAway === 0)]),
      ...(thread === undefined ? [] : [up('stream', engineOf(config.stream), !thread.isStreamAway)]),
      ...(counting === undefined ? [] : [up('stats', engineOf(config.stats), !counting.isWarehouseAway)]),
      // Of its own log this process counts itself, and is late only when that fails.
      ...(isCounted ? [up('stats', engineOf(config.stats), thread.lagMs === 0)] : []),
    ]),
    ...(pool === undefined
      ? []
      : [oneValue('terse_store_pool_size', pool.size), oneValue('terse_store_pool_in_use', pool.inUse)]),
  ];
}

/** `postgres` of `postgres://…`, and of a word the word itself. */
const engineOf = (address: string): string => /^[a-z]+/.exec(address)?.[0] ?? address;
