/** Abuse protection of this process: its watched lists, the judge and its metrics. */

import { stat } from 'node:fs/promises';
import { addressGroups } from '../base/addresses.ts';
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import type { Config } from '../config/config.ts';
import type { Log } from '../telemetry/log.ts';
import { byLabel, metric } from '../telemetry/metric-table.ts';
import type { Metric } from '../telemetry/metrics.ts';
import { type Blocklists, startBlocklists } from './blocklists.ts';
import { CheckerPanel, type UrlChecker } from './checker-panel.ts';
import { type CompiledList, compileFile, readText } from './compiled-list.ts';
import { type CompiledAges, compileAges, createDomainAge, type DomainAge } from './domain-ages.ts';
import { keyBytes } from './hash-set.ts';
import { createJudge, type JudgeUrl, UsualCountries, Velocity } from './judge.ts';
import type { ListReply, ListRequest } from './list-reader.thread.ts';
import type { OperatorEntryStore } from './operator-entries.ts';
import { defaultRiskPolicy, type RiskPolicy, readRiskFile } from './risk.ts';
import { type FileStatus, type WatchedFile, watchFile } from './watched-file.ts';

export interface AbuseOptions {
  readonly config: Config;
  readonly entries: OperatorEntryStore;
  readonly countryOf: (address: string) => string | undefined;
  readonly checkers: readonly UrlChecker[];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface Abuse {
  readonly judgeUrl: JudgeUrl;
  /** For existing links: whether a list blocks their destination now. */
  readonly isListed: (url: string) => boolean;
  /** Calls `listener` whenever the answer of `isListed` may have changed. */
  onListsChanged(listener: () => void): void;
  readonly lists: Blocklists;
  metrics(): Metric[];
  stop(): void;
}

export async function startAbuse(options: AbuseOptions): Promise<Abuse> {
  const { config, entries, countryOf, checkers, clock, random, log } = options;
  const key = random.bytes(keyBytes);
  const listeners: (() => void)[] = [];
  const lists = await startBlocklists({
    paths: config.blocklists,
    compileFile: readBlocklist,
    entries,
    key,
    clock,
    onChanged: () => listeners.forEach(listener => void listener()),
    onLoaded: (list, count, { unreadable, refused, examples }) =>
      log.info('blocklist loaded', {
        list,
        entries: count,
        unreadable,
        refused,
        complaints: examples.slice(0, 5),
      }),
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

  const panel = new CheckerPanel(checkers, clock);
  const judge = createJudge({
    matchUrl: lists.match,
    panel,
    riskPolicy: () => riskPolicy,
    thresholds: { quarantine: config.riskQuarantine, block: config.riskBlock },
    domainAge: () => domainAge,
    velocity: new Velocity(clock),
    usualCountries: new UsualCountries(),
    countryOf,
    addressGroup: address => addressGroups(address).site,
    clock,
  });

  return {
    judgeUrl: judge.judgeUrl,
    isListed: url => lists.match(url) !== undefined,
    onListsChanged: listener => void listeners.push(listener),
    lists,
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
  /** Reads the file and returns the function that activates it. */
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
      onLoaded(activate) {
        activate();
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
      'terse_list_invalid_lines',
      perList(status, ({ complaints: { unreadable, refused } }) => unreadable + refused),
    ),
  ];
}

/** About two milliseconds of work. */
const shortBytesMax = 64 * 1024;

/** Short lists are read here, long ones on a thread of their own that hands over the result without a copy. */
async function readBlocklist(path: string, key: Uint8Array): Promise<CompiledList> {
  if (await isShort(path)) return compileFile(path, key);
  return onThread<CompiledList>({ kind: 'blocklist', path, key });
}

async function readDomainAges(path: string, key: Uint8Array, now: number): Promise<CompiledAges> {
  if (await isShort(path)) return compileAges(await readText(path), key, now);
  return onThread<CompiledAges>({ kind: 'ages', path, key, now });
}

const isShort = async (path: string): Promise<boolean> => (await stat(path)).size <= shortBytesMax;

function onThread<Value extends CompiledList | CompiledAges>(request: ListRequest): Promise<Value> {
  const worker = new Worker(new URL('./list-reader.thread.ts', import.meta.url));
  const { promise, resolve, reject } = Promise.withResolvers<Value>();
  worker.onmessage = ({ data }: MessageEvent<ListReply>) =>
    'fault' in data ? reject(new Error(data.fault)) : resolve(data.value as Value);
  worker.onerror = event => reject(new Error(event.message));
  worker.postMessage(request);
  return promise.finally(() => worker.terminate());
}
