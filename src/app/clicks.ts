/** The clicks of this process: the recorder here, the thread that stores and counts, the thread that answers. */
import { join } from 'node:path';
import { type Clock, sleep, systemClock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import { ThreadCaller, type ThreadFunctions } from '../base/thread-call.ts';
import { type HourFigures, HourWatch } from '../clicks/hour-watch.ts';
import type { LiveUpdate } from '../clicks/live.ts';
import { headPath, makeHeadsFolder, ProducerHeadFile } from '../clicks/producer-heads.ts';
import { rawBatchTransfers } from '../clicks/raw-batch.ts';
import { Recorder } from '../clicks/recorder.ts';
import type { ClickReports } from '../clicks/reports.ts';
import type { ClickSettings } from '../clicks/settings.ts';
import { WatchList } from '../clicks/watch-list.ts';
import { describeFailure, type Log } from '../ops/log.ts';
import type { ClickThreadFunctions, ClickThreadMessage } from './click-thread.ts';
import { type CountingCounts, startCounting } from './counting.ts';
import type { ReconcileThreadFunctions } from './reconcile-thread.ts';
import type { StatsThreadFunctions } from './stats-thread.ts';

export interface ClicksOptions {
  /** `embedded`, or the address of Kafka. */
  readonly stream: string;
  /** `sqlite`, or the address of ClickHouse. */
  readonly stats: string;
  /** Whether this process counts what is in a stream that processes share. */
  readonly counts: boolean;
  readonly dataFolder: string;
  readonly spillFolder: string;
  readonly spillMbMax: number;
  readonly secret: Uint8Array;
  readonly geoPath: string | undefined;
  readonly ownHosts: readonly string[];
  /** Clicks a minute beyond which they are suspicious; 0 for never. */
  readonly addressRate: number;
  readonly agentRate: number;
  readonly rawDays: number;
  /** Whether days go into an archive before they are removed. */
  readonly archives: boolean;
  readonly minuteDays: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

type ThreadCounts = ReturnType<ClickThreadFunctions['counts']>;

interface LatestCounts {
  thread: ThreadCounts | undefined;
  /** Of the thread that counts, where there is one of its own. */
  counting: CountingCounts | undefined;
  drift: number | undefined;
  /** Of the last day's hours. */
  hours: HourFigures | undefined;
}

export interface Clicks {
  readonly recorder: Recorder;
  readonly reports: ClickReports;
  /** What was known of the other threads' work when last asked, a few seconds ago. */
  readonly latest: Readonly<LatestCounts>;
  /** Sends, stores and counts everything noted so far. */
  close(): Promise<void>;
}

const bytesPerMb = 1024 * 1024;
const countsPeriodMs = 2_000;
const driftPeriodMs = 60_000;
const driftWindowMs = 24 * 60 * 60_000;
/** An hour at a time, so that each hour of a day is looked at every two hours. */
const hourWatchPeriodMs = 5 * 60_000;
const closePollMs = 5;
const closeMaxMs = 10_000;

export function startClicks(options: ClicksOptions): Clicks {
  const { stream, dataFolder, clock, random, log } = options;
  const isEmbedded = stream === 'embedded';
  const producer = `${clock.now().toString(36)}-${Buffer.from(random.bytes(6)).toString('hex')}`;
  const settings: ClickSettings = {
    stream,
    stats: options.stats,
    logFolder: join(dataFolder, isEmbedded ? 'clicks' : 'kafka'),
    warehousePath: join(dataFolder, 'stats.db'),
    spillFolder: options.spillFolder,
    spillBytesMax: options.spillMbMax * bytesPerMb,
    producer,
    secret: options.secret,
    geoPath: options.geoPath,
    ownHosts: options.ownHosts,
    addressRate: options.addressRate,
    agentRate: options.agentRate,
    rawDays: options.rawDays,
    archives: options.archives,
    minuteDays: options.minuteDays,
  };
  makeHeadsFolder(settings.logFolder);

  let clickThread: Worker;
  const thread = new ThreadCaller<ClickThreadFunctions>({
    postMessage: message => clickThread.postMessage(message),
  });
  const head = new ProducerHeadFile(headPath(settings.logFolder, producer));
  // The thread does so later, and whoever is silent is taken for dead.
  head.beat(systemClock.now());
  const recorder = new Recorder({
    clock,
    head,
    send: batch => clickThread.postMessage(batch, rawBatchTransfers(batch)),
  });
  const watchers = new WatchList(codes => {
    thread.call('watch', codes).catch(() => undefined);
  });
  const startClickThread = (): void => {
    clickThread = startThread(
      isEmbedded
        ? new URL('./click-thread.ts', import.meta.url)
        : new URL('./kafka-click-thread.ts', import.meta.url),
      settings,
    );
    clickThread.onmessage = ({ data }: MessageEvent<ClickThreadMessage>) => {
      if (thread.take(data)) return;
      if (data.kind === 'taken') recorder.acknowledge();
      else if (data.kind === 'live') watchers.publish(data.update satisfies LiveUpdate);
      else log.warn(data.what, { detail: data.detail });
    };
    clickThread.onerror = event => {
      log.error('the click thread failed and is started again', { detail: event.message });
      clickThread.terminate();
      thread.abandon('the click thread failed');
      recorder.threadLost();
      startClickThread();
      thread.call('watch', watchers.codes).catch(() => undefined);
    };
  };
  startClickThread();

  const counting = isEmbedded || !options.counts ? undefined : startCounting(settings, log);
  const stats = lazyThread<StatsThreadFunctions>(
    new URL('./stats-thread.ts', import.meta.url),
    settings,
    log,
  );
  const reconciling = lazyThread<ReconcileThreadFunctions>(
    new URL('./reconcile-thread.ts', import.meta.url),
    settings,
    log,
  );
  const latest: LatestCounts = { thread: undefined, counting: undefined, drift: undefined, hours: undefined };
  const refreshCounts = async (): Promise<void> => {
    latest.thread = await thread.call('counts');
    latest.counting = await counting?.counts();
  };
  const refreshDrift = async (): Promise<void> => {
    const now = clock.now();
    latest.drift = (await stats.caller.call('reconcile', now - driftWindowMs, now + driftWindowMs)).drift;
  };
  const watch = new HourWatch({
    compare: (from, to) => reconciling.caller.call('compare', from, to, false),
    clock,
  });
  const refreshHours = async (): Promise<void> => {
    await watch.round();
    latest.hours = watch.figures;
  };
  const ignore = (error: unknown): void =>
    log.debug('clicks cannot be measured', { failure: describeFailure(error) });
  const stopCounts = clock.every(countsPeriodMs, () => void refreshCounts().catch(ignore));
  // Of a stream that processes share, those who count it tell; the others would only ask the same again.
  const tellsDrift = isEmbedded || counting !== undefined;
  const stopDrift = tellsDrift
    ? clock.every(driftPeriodMs, () => void refreshDrift().catch(ignore))
    : () => {};
  const stopHours = tellsDrift
    ? clock.every(hourWatchPeriodMs, () => void refreshHours().catch(ignore))
    : () => {};

  return {
    recorder,
    reports: {
      stats: query => stats.caller.call('stats', query),
      totals: codes => stats.caller.call('totals', codes),
      ranking: question => stats.caller.call('ranking', question),
      exportPart: (filter, cursor) => stats.caller.call('exportPart', filter, cursor),
      reconcile: (from, to) => stats.caller.call('reconcile', from, to),
      compareHours: (from, to, countsStream) => reconciling.caller.call('compare', from, to, countsStream),
      rebuild: () => thread.call('rebuild'),
      repair: (from, to) => reconciling.caller.call('repair', from, to),
      forget: code => thread.call('forget', code, clock.now()),
      watchers,
    },
    latest,
    async close() {
      stopCounts();
      stopDrift();
      stopHours();
      recorder.close();
      const deadlineMs = systemClock.monotonicMs() + closeMaxMs;
      while (recorder.pending > 0 && systemClock.monotonicMs() < deadlineMs) {
        await sleep(systemClock, closePollMs);
        recorder.flush();
      }
      const stopped = thread
        .call('stop')
        .catch(error => log.error('clicks did not end well', { failure: describeFailure(error) }));
      await Promise.race([stopped, sleep(systemClock, closeMaxMs)]);
      clickThread.terminate();
      await counting?.stop();
      stats.terminate();
      reconciling.terminate();
    },
  };
}

function startThread(url: URL, settings: ClickSettings): Worker {
  const worker = new Worker(url);
  worker.postMessage(settings);
  return worker;
}

/** A thread that answers is started by the first question. */
function lazyThread<Functions extends ThreadFunctions>(
  url: URL,
  settings: ClickSettings,
  log: Log,
): { caller: ThreadCaller<Functions>; terminate(): void } {
  let worker: Worker | undefined;
  const caller: ThreadCaller<Functions> = new ThreadCaller({
    postMessage(message) {
      if (worker === undefined) {
        worker = startThread(url, settings);
        worker.onmessage = ({ data }: MessageEvent<unknown>) => void caller.take(data);
        worker.onerror = event => {
          log.error('a thread that answers questions about clicks failed', { detail: event.message });
          worker?.terminate();
          worker = undefined;
          caller.abandon('the thread that answers questions about clicks failed');
        };
      }
      worker.postMessage(message);
    },
  });
  return { caller, terminate: () => worker?.terminate() };
}
