/**
 * Whether destinations still respond, where the settings enable it: the thread that checks them, in a process with that
 * role, and the results, for the code that shows links.
 */
import { systemClock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import { SupervisedThread, startThread } from '../base/supervised-thread.ts';
import { answerCall, type ThreadFunctions } from '../base/thread-call.ts';
import type { Config } from '../config/config.ts';
import type { Link } from '../links/link.ts';
import { describeFailure, type Log } from '../telemetry/log.ts';
import { byLabel } from '../telemetry/metric-table.ts';
import type { Metric } from '../telemetry/metrics.ts';
import { destinationOf, type HealthRecord, type HealthStore } from './health.ts';
import type { LinkHealthMessage, LinkHealthSettings } from './link-health.thread.ts';
import type { WalkerCounts } from './walker.ts';

export interface LinkHealth {
  /** The known health of these links' current destinations, in their order. Undefined when checks are off. */
  readonly healthOf: ((links: readonly Link[]) => Promise<(HealthRecord | undefined)[]>) | undefined;
  metrics(): Metric[];
  stop(): void;
}

export interface LinkHealthOptions {
  readonly config: Pick<Config, 'linkHealth' | 'baseUrl'> & LinkHealthSettings['config'];
  readonly version: string;
  /** Whether this process does the checks when it has the turn. */
  readonly isOurs: boolean;
  readonly store: HealthStore;
  readonly random: Random;
  readonly log: Log;
}

const restartPauseMs = 30_000;

export function startLinkHealth(options: LinkHealthOptions): LinkHealth {
  const { config, log } = options;
  if (!config.linkHealth) return { healthOf: undefined, metrics: () => [], stop: () => {} };
  const { store } = options;
  const asking = options.isOurs ? startAsking(options) : undefined;
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
        log.debug('link health cannot be read', { failure: describeFailure(error) });
        return links.map(() => undefined);
      }
    },
    metrics: () => (asking === undefined ? [] : healthMetrics(asking.counts())),
    stop: () => asking?.stop(),
  };
}

function startAsking({ config, version, store, random, log }: LinkHealthOptions) {
  const settings: LinkHealthSettings = {
    config,
    runner: Buffer.from(random.bytes(12)).toString('hex'),
    userAgent: `Terse/${version} (link check; +${config.baseUrl})`,
  };
  let ended = noCounts;
  let current = noCounts;
  const thread: SupervisedThread<LinkHealthMessage> = new SupervisedThread({
    start: () => startThread(new URL('./link-health.thread.ts', import.meta.url), settings),
    onMessage(message: LinkHealthMessage) {
      // The thread has no connection of its own to the store.
      if (answerCall(message, store as unknown as ThreadFunctions, thread)) return;
      if (message.kind === 'counts') current = message.counts;
      else log.warn('destinations cannot be checked for now', { detail: message.detail });
    },
    onFailure(detail) {
      log.error('the thread that checks destinations failed and is started again', { detail });
      ended = sumOf(ended, current);
      current = noCounts;
    },
    restartPauseMs,
    clock: systemClock,
  });
  return {
    counts: (): WalkerCounts => sumOf(ended, current),
    stop: () => thread.stop(),
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
