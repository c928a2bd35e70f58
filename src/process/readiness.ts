/**
 * Whether this process should get traffic, and which of its engines do not respond. A process is unready only without
 * what its work requires: the store for the API and for workers; for redirects any source of links, including its own
 * memory for a time, because removing every process that could still redirect would turn an outage of the store into
 * one of everything. `freshness` appears when nothing proves that memory is current. Other engines are reported and
 * change nothing: clicks wait, limits are counted per process, statistics report it themselves.
 */
import type { Clicks } from '../clicks/start.ts';
import type { Config, Duties } from '../config/config.ts';
import type { LinkStore } from '../links/store.ts';
import type { Isolation } from '../resolve/start.ts';
import type { Stores } from '../stores/stores.ts';
import { metric, oneValue } from '../telemetry/metric-table.ts';
import type { Metric, Sample } from '../telemetry/metrics.ts';

export interface ReadinessOptions {
  readonly duties: Duties;
  readonly links: Pick<LinkStore, 'spans' | 'isNearUsable'>;
  readonly codeLength: number;
  readonly redis:
    | { readonly figures: { readonly servers: number; readonly serversDown: number } }
    | undefined;
  readonly clicks: Pick<Clicks, 'latest'> | undefined;
  readonly isolation: Isolation;
}

export interface Readiness {
  readonly isReady: boolean;
  /** Each part's name and whether it works now. */
  readonly parts: Readonly<Record<string, boolean>>;
}

export async function checkReadiness(options: ReadinessOptions): Promise<Readiness> {
  const { duties, links, codeLength, redis, clicks, isolation } = options;
  const isStoreThere = await links.spans(codeLength).then(
    () => true,
    () => false,
  );
  const isCacheThere = redis !== undefined && redis.figures.serversDown < redis.figures.servers;
  const isNearThere = links.isNearUsable?.() ?? false;
  const { thread, counting } = clicks?.latest ?? {};
  return {
    isReady: isStoreThere || (duties.redirects && (isCacheThere || isNearThere || isolation.servesMemory)),
    parts: {
      links: isStoreThere,
      ...(isolation.isIsolated && { freshness: false }),
      ...(redis !== undefined && { cache: redis.figures.serversDown === 0 }),
      ...(links.isNearUsable !== undefined && { replica: isNearThere }),
      ...(thread !== undefined && { stream: !thread.isStreamDown }),
      ...(counting !== undefined && { stats: !counting.isWarehouseDown }),
    },
  };
}

/**
 * Whether the engines that the settings name respond. No engine is asked for this: each part knows it from its own
 * work, and reports what it last saw.
 */
export interface EngineHealthParts {
  readonly config: Pick<Config, 'links' | 'stream' | 'stats'>;
  readonly stores: Pick<Stores, 'pool'>;
  /** How long ago the store last proved that it answers. */
  readonly storeSilentMs: number;
  readonly redis:
    | { readonly figures: { readonly servers: number; readonly serversDown: number } }
    | undefined;
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
      ...(redis === undefined ? [] : [up('cache', 'redis', redis.figures.serversDown === 0)]),
      ...(thread === undefined ? [] : [up('stream', engineOf(config.stream), !thread.isStreamDown)]),
      ...(counting === undefined ? [] : [up('stats', engineOf(config.stats), !counting.isWarehouseDown)]),
      // This process counts its own log itself, and is late only when that fails.
      ...(isCounted ? [up('stats', engineOf(config.stats), thread.lagMs === 0)] : []),
    ]),
    ...(pool === undefined
      ? []
      : [oneValue('terse_store_pool_size', pool.size), oneValue('terse_store_pool_in_use', pool.inUse)]),
  ];
}

/** `postgres` for `postgres://…`; a plain word is returned as it is. */
const engineOf = (address: string): string => /^[a-z]+/.exec(address)?.[0] ?? address;
