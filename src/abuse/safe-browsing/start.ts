/**
 * Safe Browsing in this process: a checker for new links, a recheck of those in use, and the lists behind both.
 * Without a key all of it is off, and nothing is sent anywhere.
 */
import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import type { Config } from '../../config/config.ts';
import { describeFailure, type Log } from '../../telemetry/log.ts';
import { byLabel, metric, oneValue } from '../../telemetry/metric-table.ts';
import type { Metric } from '../../telemetry/metrics.ts';
import type { UrlChecker } from '../checker-panel.ts';
import { SafeBrowsingChecker } from './checker.ts';
import { ThreatLists } from './lists.ts';
import { Recheck } from './recheck.ts';
import { SharedFolder } from './shared-folder.ts';
import { type UpdateLock, Updater } from './updater.ts';

export interface SafeBrowsingOptions {
  readonly config: Pick<Config, 'data' | 'safeBrowsingKey' | 'safeBrowsingUrl'>;
  readonly clientVersion: string;
  readonly lockAt: (path: string) => UpdateLock & { close(): void };
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** A link in use was found to lead to a listed URL. May be called for the same one again. */
  readonly onListed: (code: string, threat: string, url: string) => Promise<unknown>;
}

export interface SafeBrowsing {
  readonly checkers: readonly UrlChecker[];
  /** A link in use; it is rechecked from time to time. */
  see(code: string, longUrl: string): void;
  metrics(): Metric[];
  stop(): Promise<void>;
}

const switchedOff: SafeBrowsing = {
  checkers: [],
  see() {},
  metrics: () => [],
  stop: async () => undefined,
};

export async function startSafeBrowsing(options: SafeBrowsingOptions): Promise<SafeBrowsing> {
  const { config, clientVersion, clock, random, log } = options;
  const key = config.safeBrowsingKey;
  if (key === undefined) return switchedOff;
  const onFault = (error: unknown): void =>
    log.warn('safe browsing failed', { failure: describeFailure(error) });
  const folder = join(config.data, 'safe-browsing');
  // Loaded only here, because its protobuf reader would lengthen every start.
  const { SafeBrowsingClient } = await import('./client.ts');
  const client = new SafeBrowsingClient({ server: config.safeBrowsingUrl, key, clientVersion, clock });
  const lists = new ThreatLists();
  const lock = options.lockAt(join(folder, 'lock'));
  const updater = new Updater({
    client,
    lists,
    folder: new SharedFolder(folder, client.server),
    lock,
    clock,
    random,
    onFault,
  });
  const checker = new SafeBrowsingChecker({ client, lists, clock, random, onFault });
  const recheck = new Recheck({
    inspect: url => checker.inspect(url),
    generation: () => lists.generation,
    async onListed(code, threat, url) {
      await options.onListed(code, threat, url);
    },
    onFault,
    clock,
  });
  await updater.start();
  recheck.start();

  return {
    checkers: [checker],
    see: (code, longUrl) => recheck.see(code, longUrl),
    metrics: () => metricsOf({ lists, updater, checker, recheck, now: clock.now() }),
    async stop() {
      const stopped = Promise.all([updater.stop(), recheck.stop()]);
      client.close();
      await stopped;
      lock.close();
    },
  };
}

/** The listing as a moderator and the owner read it. */
export function safeBrowsingListing(threat: string, url: string) {
  return {
    url,
    signal: `safeBrowsing:${threat}`,
    reason: `Safe Browsing lists the destination as ${threat.replaceAll('_', ' ')}.`,
  };
}

interface Parts {
  readonly lists: ThreatLists;
  readonly updater: Updater;
  readonly checker: SafeBrowsingChecker;
  readonly recheck: Recheck;
  readonly now: number;
}

function metricsOf({ lists, updater, checker, recheck, now }: Parts): Metric[] {
  const perList = (value: (list: ThreatLists['all'][number]) => number): Record<string, number> =>
    Object.fromEntries(lists.all.map(list => [list.name, value(list)]));
  return [
    metric('terse_safe_browsing_checks_total', checker.outcomes.samples('outcome')),
    byLabel('terse_safe_browsing_updates_total', {
      updated: updater.updates,
      failed: updater.faults,
      mismatched: updater.mismatches,
    }),
    byLabel(
      'terse_safe_browsing_list_age_seconds',
      perList(({ updatedAt }) => (now - updatedAt) / 1_000),
    ),
    byLabel(
      'terse_safe_browsing_list_entries',
      perList(({ prefixes }) => prefixes.size),
    ),
    byLabel('terse_safe_browsing_rechecks_total', {
      listed: recheck.listed,
      clean: recheck.checked - recheck.listed,
    }),
    oneValue('terse_safe_browsing_rechecks_due', recheck.size.due),
  ];
}
