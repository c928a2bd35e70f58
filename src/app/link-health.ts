/**
 * Whether destinations still answer, where the settings ask for it: the thread that asks them, in a process with the
 * role for it, and what is known, for whoever shows links.
 */
import { type Clock, systemClock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import type { Redis } from '../engines/redis/redis.ts';
import { destinationOf, type HealthRecord } from '../health/health.ts';
import type { WalkerCounts } from '../health/walker.ts';
import type { Link } from '../links/link.ts';
import { describeFailure, type Log } from '../ops/log.ts';
import type { Metric } from '../ops/metrics.ts';
import type { Config } from './config.ts';
import { openHealthStore } from './link-health-store.ts';
import type { LinkHealthMessage, LinkHealthSettings } from './link-health-thread.ts';
import { byLabel } from './metric-table.ts';

export interface LinkHealth {
  /** What is known of where these links lead now, in their order. Undefined when nobody asks. */
  readonly healthOf: ((links: readonly Link[]) => Promise<(HealthRecord | undefined)[]>) | undefined;
  metrics(): Metric[];
  stop(): Promise<void>;
}

export interface LinkHealthOptions {
  readonly config: Pick<
    Config,
    'linkHealth' | 'baseUrl' | Exclude<keyof LinkHealthSettings, 'runner' | 'userAgent'>
  >;
  readonly version: string;
  /** Whether it is for this process to ask, when it is its turn. */
  readonly isOurs: boolean;
  readonly redis: Redis | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

const restartPauseMs = 30_000;

export async function startLinkHealth(options: LinkHealthOptions): Promise<LinkHealth> {
  const { config, redis, clock, log } = options;
  if (!config.linkHealth) return { healthOf: undefined, metrics: () => [], stop: async () => {} };
  const store = await openHealthStore(config, clock, redis);
  const asking = options.isOurs ? startThread(options) : undefined;
  return {
    async healthOf(links) {
      try {
        const records = await store.find(links.map(({ code }) => code));
        return links.map(({ longUrl }, index) => {
          const record = records[index];
          return record?.destination === destinationOf(longUrl) ? record : undefined;
        });
      } catch (error) {
        // A link is shown with or without it.
        log.debug('what is known of destinations cannot be read', { failure: describeFailure(error) });
        return links.map(() => undefined);
      }
    },
    metrics: () => (asking === undefined ? [] : healthMetrics(asking.counts())),
    async stop() {
      asking?.stop();
      await store.close();
    },
  };
}

function startThread({ config, version, random, log }: LinkHealthOptions) {
  const { links, data, cache, linkHealthHours, linkHealthRate, linkHealthNetworks } = config;
  const settings: LinkHealthSettings = {
    links,
    data,
    cache,
    linkHealthHours,
    linkHealthRate,
    linkHealthNetworks,
    runner: Buffer.from(random.bytes(12)).toString('hex'),
    userAgent: `Terse/${version} (link check; +${config.baseUrl})`,
  };
  let worker: Worker;
  let isOver = false;
  let ended = noCounts;
  let current = noCounts;
  const start = (): void => {
    worker = new Worker(new URL('./link-health-thread.ts', import.meta.url));
    worker.postMessage(settings);
    worker.onmessage = ({ data: message }: MessageEvent<LinkHealthMessage>) => {
      if (message.kind === 'counts') current = message.counts;
      else log.warn('destinations cannot be checked for now', { detail: message.detail });
    };
    worker.onerror = event => {
      log.error('the thread that checks destinations failed and is started again', { detail: event.message });
      worker.terminate();
      ended = sumOf(ended, current);
      current = noCounts;
      systemClock.after(restartPauseMs, () => {
        if (!isOver) start();
      });
    };
  };
  start();
  return {
    counts: (): WalkerCounts => sumOf(ended, current),
    stop(): void {
      isOver = true;
      worker.terminate();
    },
  };
}

const noCounts: WalkerCounts = { answered: 0, failing: 0 };

const sumOf = (one: WalkerCounts, other: WalkerCounts): WalkerCounts => ({
  answered: one.answered + other.answered,
  failing: one.failing + other.failing,
});

const healthMetrics = ({ answered, failing }: WalkerCounts): Metric[] => [
  byLabel('terse_link_health_checks_total', { answered, failing }),
];
