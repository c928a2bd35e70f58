/**
 * Safe Browsing in this process: a checker for new links, a second look at those in use, and the lists behind both.
 * Without a key there is none of it, and nothing is sent anywhere.
 */
import { join } from 'node:path';
import type { UrlChecker } from '../abuse/checker.ts';
import { SafeBrowsingChecker } from '../abuse/safe-browsing/checker.ts';
import { createClientV4 } from '../abuse/safe-browsing/client-v4.ts';
import { createClientV5 } from '../abuse/safe-browsing/client-v5.ts';
import { ThreatLists } from '../abuse/safe-browsing/lists.ts';
import { Recheck } from '../abuse/safe-browsing/recheck.ts';
import { SharedFolder } from '../abuse/safe-browsing/shared-folder.ts';
import { Transport } from '../abuse/safe-browsing/transport.ts';
import { Updater } from '../abuse/safe-browsing/updater.ts';
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import { ProcessLock } from '../engines/sqlite/process-lock.ts';
import type { Link } from '../links/link.ts';
import type { LinkStore } from '../links/store.ts';
import type { Listing } from '../moderation/hold-listed.ts';
import { describeFailure, type Log } from '../ops/log.ts';
import type { Metric } from '../ops/metrics.ts';
import type { Config } from './config.ts';
import { byLabel, metric, oneValue } from './metric-table.ts';

export interface SafeBrowsingOptions {
  readonly config: Pick<Config, 'data' | 'safeBrowsingKey' | 'safeBrowsingApi' | 'safeBrowsingUrl'>;
  readonly clientVersion: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** A link in use was found to lead to a listed URL. May be told of the same one again. */
  readonly onListed: (code: string, threat: string, url: string) => Promise<unknown>;
}

export interface SafeBrowsing {
  readonly checkers: readonly UrlChecker[];
  /** The same store; the links that pass through it are looked at again from time to time. */
  observe(store: LinkStore): LinkStore;
  metrics(): Metric[];
  stop(): Promise<void>;
}

const switchedOff: SafeBrowsing = {
  checkers: [],
  observe: store => store,
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
  const transport = new Transport({ server: config.safeBrowsingUrl, key, clientVersion, clock });
  const api =
    config.safeBrowsingApi === 'v5' ? createClientV5(transport) : createClientV4(transport, clientVersion);
  const lists = new ThreatLists();
  const lock = new ProcessLock(join(folder, 'lock'));
  const updater = new Updater({
    api,
    lists,
    folder: new SharedFolder(folder, api),
    lock,
    clock,
    random,
    onFault,
  });
  const checker = new SafeBrowsingChecker({ api, lists, clock, random, onFault });
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
    observe: store => observed(store, link => recheck.see(link.code, link.longUrl)),
    metrics: () => metricsOf({ lists, updater, checker, recheck, now: clock.now() }),
    async stop() {
      const stopped = Promise.all([updater.stop(), recheck.stop()]);
      transport.close();
      await stopped;
      lock.close();
    },
  };
}

/** What a moderator and the owner get to read. */
export function safeBrowsingListing(threat: string, url: string): Listing {
  return {
    url,
    signal: `safeBrowsing:${threat}`,
    reason: `Safe Browsing lists the destination as ${threat.replaceAll('_', ' ')}.`,
  };
}

/** Every link that is made, or read for whoever, passes by; what nobody can follow is of no interest. */
function observed(store: LinkStore, see: (link: Link) => void): LinkStore {
  const look = (link: Link | undefined): void => {
    if (link?.status === 'active' || link?.status === 'quarantined') see(link);
  };
  return {
    ...store,
    async find(code) {
      const link = await store.find(code);
      look(link);
      return link;
    },
    async insert(items) {
      const outcomes = await store.insert(items);
      outcomes.forEach(({ kind }, index) => {
        if (kind === 'inserted') look(items[index]?.link);
      });
      return outcomes;
    },
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
