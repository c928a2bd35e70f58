/** Abuse protection of this process: its lists and how they are followed, the judge, its routes and its numbers. */
import { readFileSync } from 'node:fs';
import { type Blocklists, startBlocklists } from '../abuse/blocklists.ts';
import type { UrlChecker } from '../abuse/checker.ts';
import { CheckerPanel } from '../abuse/checker-panel.ts';
import { createDomainAge, type DomainAge } from '../abuse/domain-ages.ts';
import { createJudge, type JudgeUrl } from '../abuse/judge.ts';
import { keyBytes } from '../abuse/keyed-hash.ts';
import { readText } from '../abuse/list-file.ts';
import { defaultRiskPolicy, type RiskPolicy } from '../abuse/risk.ts';
import { readRiskFile } from '../abuse/risk-file.ts';
import { UsualCountries } from '../abuse/usual-country.ts';
import { Velocity } from '../abuse/velocity.ts';
import { type FileStatus, type WatchedFile, watchFile } from '../abuse/watched-file.ts';
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import { createGeo } from '../clicks/steps/geo.ts';
import { addressGroups } from '../http/address-group.ts';
import type { Route } from '../http/route.ts';
import { blocklistRoutes } from '../http/routes/blocklist.ts';
import type { Log } from '../ops/log.ts';
import type { Metric } from '../ops/metrics.ts';
import type { Config } from './config.ts';
import { readBlocklist, readDomainAges } from './list-reader.ts';
import { byLabel, metric } from './metric-table.ts';
import type { Stores } from './stores.ts';

export interface AbuseOptions {
  readonly config: Config;
  readonly stores: Pick<Stores, 'blockEntries'>;
  readonly checkers: readonly UrlChecker[];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface Abuse {
  readonly judgeUrl: JudgeUrl;
  /** For links that exist: whether a list has anything against their destination today. */
  readonly isListed: (url: string) => boolean;
  /** Calls `listener` whenever `isListed` may answer otherwise than before. */
  onListsChanged(listener: () => void): void;
  readonly routes: readonly Route[];
  metrics(): Metric[];
  stop(): void;
}

export async function startAbuse(options: AbuseOptions): Promise<Abuse> {
  const { config, stores, checkers, clock, random, log } = options;
  const key = random.bytes(keyBytes);
  const listeners: (() => void)[] = [];
  const lists = await startBlocklists({
    paths: config.blocklists,
    compileFile: readBlocklist,
    entries: stores.blockEntries,
    key,
    clock,
    onChanged: () => listeners.forEach(listener => void listener()),
    onLoaded: (list, entries, { unreadable, refused, examples }) =>
      log.info('blocklist loaded', { list, entries, unreadable, refused, complaints: examples.slice(0, 5) }),
    onFault: (list, fault) => log.warn('a blocklist cannot be used as it is', { list, fault }),
  });

  let domainAge: DomainAge | undefined;
  let riskPolicy: RiskPolicy = defaultRiskPolicy;
  const followed = await followAll(
    [
      ...fileOf(config.domainAges, 'domain ages', async path => {
        const ages = await readDomainAges(path, key, clock.now());
        if (ages.unreadable > ages.lines / 2)
          throw new Error(`most lines cannot be read: ${ages.examples[0]}`);
        return () => (domainAge = createDomainAge(ages, key));
      }),
      ...fileOf(config.riskFile, 'risk file', async path => {
        const policy = readRiskFile(await readText(path));
        return () => (riskPolicy = policy);
      }),
    ],
    clock,
    log,
  );

  const geo = createGeo({ databasePath: config.geoFile, readFile: readFileSync });
  const panel = new CheckerPanel(checkers, clock);
  const judge = createJudge({
    matchUrl: lists.match,
    panel,
    riskPolicy: () => riskPolicy,
    thresholds: { quarantine: config.riskQuarantine, block: config.riskBlock },
    domainAge: (domain, now) => domainAge?.(domain, now),
    velocity: new Velocity(clock),
    usualCountries: new UsualCountries(),
    countryOf: address => geo.locate(address).country || undefined,
    addressGroup: address => addressGroups(address).site,
    clock,
  });

  return {
    judgeUrl: judge.judgeUrl,
    isListed: url => lists.match(url) !== undefined,
    onListsChanged: listener => void listeners.push(listener),
    routes: blocklistRoutes({ entries: stores.blockEntries, lists, clock }),
    metrics: () => [
      metric('malicious_url_attempts_total', judge.attempts.samples('type')),
      metric('terse_url_checks_failed_total', panel.failureSamples()),
      ...listMetrics(lists, followed.status()),
    ],
    stop() {
      lists.stop();
      followed.stop();
    },
  };
}

interface FollowedFile {
  readonly name: string;
  readonly path: string;
  /** Reads the file and returns what puts it in force. */
  readonly read: (path: string) => Promise<() => void>;
}

function fileOf(path: string | undefined, name: string, read: FollowedFile['read']): FollowedFile[] {
  return path === undefined ? [] : [{ name, path, read }];
}

async function followAll(files: readonly FollowedFile[], clock: Clock, log: Log) {
  const watched: { name: string; file: WatchedFile }[] = files.map(({ name, path, read }) => ({
    name,
    file: watchFile<() => void>({
      path,
      clock,
      load: read,
      onLoaded(putInForce) {
        putInForce();
        log.info('file loaded', { file: name });
      },
      onFault: fault => log.warn('a file cannot be used as it is', { file: name, fault }),
    }),
  }));
  const stops = await Promise.all(watched.map(({ file }) => file.start()));
  return {
    status: () => watched.map(({ name, file }) => ({ name, ...file.status() })),
    stop: () => stops.forEach(stop => void stop()),
  };
}

function listMetrics(lists: Blocklists, files: readonly (FileStatus & { name: string })[]): Metric[] {
  const status = lists.status();
  const perList = <Each extends { readonly name: string }>(
    all: readonly Each[],
    value: (list: Each) => number,
  ) => Object.fromEntries(all.map(list => [list.name, value(list)]));
  return [
    byLabel(
      'terse_blocklist_entries',
      perList(status, ({ entries }) => entries),
    ),
    byLabel(
      'terse_list_healthy',
      perList([...status, ...files], ({ state }) => Number(state === 'loaded')),
    ),
    byLabel(
      'terse_list_complaints',
      perList(status, ({ complaints: { unreadable, refused } }) => unreadable + refused),
    ),
  ];
}
