/**
 * Whether this process should have visitors, and which of the engines that it uses do not answer. What makes a process
 * unready is only what it cannot do its work without: the store for the API and for workers; for redirects anything that
 * knows links, because taking away every process that could still redirect would make an outage of the store one of
 * everything. All others are named and change nothing: clicks wait, limits are counted alone, statistics say so themselves.
 */
import type { Redis } from '../engines/redis/redis.ts';
import type { LinkStore } from '../links/store.ts';
import type { Clicks } from './clicks.ts';
import type { Duties } from './roles.ts';

export interface ReadinessOptions {
  readonly duties: Duties;
  readonly links: Pick<LinkStore, 'spans' | 'isNearUsable'>;
  readonly codeLength: number;
  readonly redis: Pick<Redis, 'figures'> | undefined;
  readonly clicks: Pick<Clicks, 'latest'> | undefined;
}

export interface Readiness {
  readonly isReady: boolean;
  /** Each part's name and whether it works now. */
  readonly parts: Readonly<Record<string, boolean>>;
}

export async function checkReadiness(options: ReadinessOptions): Promise<Readiness> {
  const { duties, links, codeLength, redis, clicks } = options;
  const isStoreThere = await links.spans(codeLength).then(
    () => true,
    () => false,
  );
  const isCacheThere = redis !== undefined && redis.figures.serversAway < redis.figures.servers;
  const isNearThere = links.isNearUsable?.() ?? false;
  const { thread, counting } = clicks?.latest ?? {};
  return {
    isReady: isStoreThere || (duties.redirects && (isCacheThere || isNearThere)),
    parts: {
      links: isStoreThere,
      ...(redis !== undefined && { cache: redis.figures.serversAway === 0 }),
      ...(links.isNearUsable !== undefined && { replica: isNearThere }),
      ...(thread !== undefined && { stream: !thread.isStreamAway }),
      ...(counting !== undefined && { stats: !counting.isWarehouseAway }),
    },
  };
}
