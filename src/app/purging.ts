/**
 * Tells the caches in front of Terse of every change to a link, where the settings name any. One process of each machine
 * does it; machines that share a store may each do it, since a purge that comes twice is harmless.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { parsePurgeAddress } from '../edge/purge-address.ts';
import { PurgeFeed } from '../edge/purge-feed.ts';
import type { Purger } from '../edge/purger.ts';
import { createCloudFrontPurger } from '../edge/purgers/cloudfront/purger.ts';
import type { SigningKeys } from '../edge/purgers/cloudfront/signature.ts';
import { createFastlyPurger } from '../edge/purgers/fastly.ts';
import { createHookPurger } from '../edge/purgers/hook.ts';
import type { LinkStore } from '../links/store.ts';
import { KeptNumber } from '../ops/kept-number.ts';
import { describeFailure, type Log } from '../ops/log.ts';
import type { Metric } from '../ops/metrics.ts';
import { awsKeysOfProcess, type Config } from './config.ts';
import { byLabel } from './metric-table.ts';

export interface Purging {
  /** Something that is no change to a link has changed what links lead to. */
  purgeAll(): void;
  metrics(): Metric[];
  stop(): Promise<void>;
}

export interface PurgingOptions {
  readonly config: Pick<Config, 'edgePurge' | 'edgePurgeToken' | 'data'>;
  readonly store: Pick<LinkStore, 'changes' | 'find' | 'changeToken'>;
  /** Whether it is for this process to do. */
  readonly isOurs: boolean;
  readonly clock: Clock;
  readonly log: Log;
}

interface FollowedEdge {
  readonly purger: Purger;
  readonly feed: PurgeFeed;
}

export function startPurging({ config, store, isOurs, clock, log }: PurgingOptions): Purging {
  const edges = (isOurs ? config.edgePurge : []).map((address): FollowedEdge => {
    const purger = purgerAt(address, config, awsKeysOfProcess(), clock);
    const feed = new PurgeFeed({
      purger,
      store,
      position: new KeptNumber(positionPath(config, address)),
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

/** Each cache has its own: one that is away holds up no other. */
export function positionPath({ data }: Pick<Config, 'data'>, address: string): string {
  const name = createHash('sha256').update(address).digest('hex').slice(0, 16);
  return join(data, 'edge', `${name}.position`);
}

export function purgerAt(
  text: string,
  { edgePurgeToken: token }: Pick<Config, 'edgePurgeToken'>,
  keys: SigningKeys | undefined,
  clock: Clock,
): Purger {
  const address = parsePurgeAddress(text);
  if (address.kind === 'fastly') return createFastlyPurger({ address, token: token ?? '', clock });
  if (address.kind === 'cloudfront') {
    if (keys === undefined) throw new Error('CloudFront needs keys');
    return createCloudFrontPurger({ address, keys, clock });
  }
  return createHookPurger({ address, token, clock });
}

function purgeMetrics(edges: readonly FollowedEdge[]): Metric[] {
  const of = (figure: keyof PurgeFeed['figures'], unit = 1): Record<string, number> =>
    Object.fromEntries(edges.map(({ purger, feed }) => [purger.name, feed.figures[figure] / unit]));
  return [
    byLabel('terse_edge_purged_total', of('purged')),
    byLabel('terse_edge_emptied_total', of('emptied')),
    byLabel('terse_edge_purge_failures_total', of('failures')),
    byLabel('terse_edge_purge_behind_seconds', of('behindMs', 1_000)),
  ];
}
