/**
 * Notifies the caches in front of Terse of every change to a link, where the settings name any. One process per machine
 * does it; machines that share a store may each do it, since a duplicate purge is harmless.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { CheckpointFile } from '../base/checkpoint-file.ts';
import type { Clock } from '../base/clock.ts';
import type { Config } from '../config/config.ts';
import type { LinkStore } from '../links/store.ts';
import { describeFailure, type Log } from '../telemetry/log.ts';
import { byLabel } from '../telemetry/metric-table.ts';
import type { Metric } from '../telemetry/metrics.ts';
import { PurgeFeed } from './purge-feed.ts';
import type { Purger } from './purger.ts';

export interface Purging {
  /** Called when something other than a change of a link has changed where links lead. */
  purgeAll(): void;
  metrics(): Metric[];
  stop(): Promise<void>;
}

export interface PurgingOptions {
  readonly config: Pick<Config, 'edgePurge' | 'data'>;
  readonly purgerAt: (address: string) => Purger;
  readonly store: Pick<LinkStore, 'changes' | 'find' | 'changeToken'>;
  /** Whether this process does it. */
  readonly isOurs: boolean;
  readonly clock: Clock;
  readonly log: Log;
}

interface FollowedEdge {
  readonly purger: Purger;
  readonly feed: PurgeFeed;
}

export function startPurging({ config, purgerAt, store, isOurs, clock, log }: PurgingOptions): Purging {
  const edges = (isOurs ? config.edgePurge : []).map((address): FollowedEdge => {
    const purger = purgerAt(address);
    const feed = new PurgeFeed({
      purger,
      store,
      position: new CheckpointFile(positionPath(config, address)),
      clock,
      onProblem: (what, error) => log.warn(what, { failure: describeFailure(error) }),
    });
    feed.start();
    return { purger, feed };
  });
  return {
    purgeAll() {
      for (const { feed } of edges) feed.purgeAll();
    },
    metrics: () => (edges.length === 0 ? [] : purgeMetrics(edges)),
    async stop() {
      await Promise.all(edges.map(({ feed }) => feed.stop()));
    },
  };
}

/** Each cache has its own: one that is down delays no other. */
export function positionPath({ data }: Pick<Config, 'data'>, address: string): string {
  const name = createHash('sha256').update(address).digest('hex').slice(0, 16);
  return join(data, 'edge', `${name}.position`);
}

function purgeMetrics(edges: readonly FollowedEdge[]): Metric[] {
  const of = (figure: keyof PurgeFeed['figures'], unit = 1): Record<string, number> =>
    Object.fromEntries(edges.map(({ purger, feed }) => [purger.name, feed.figures[figure] / unit]));
  return [
    byLabel('terse_edge_purged_total', of('purged')),
    byLabel('terse_edge_emptied_total', of('emptied')),
    byLabel('terse_edge_purge_failures_total', of('failures')),
    byLabel('terse_edge_purge_lag_seconds', of('behindMs', 1_000)),
  ];
}
