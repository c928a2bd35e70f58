/** The clicks of this process: the recorder here, the thread that stores and counts, the thread that answers. */

import { join } from 'node:path';
import { type Clock, sleep } from '../base/clock.ts';
import { endsWithin } from '../base/deadline.ts';
import { Problem } from '../base/errors.ts';
import type { Random } from '../base/random.ts';
import { type LazyThread, lazyThread, SupervisedThread, startThread } from '../base/supervised-thread.ts';
import { ThreadCaller } from '../base/thread-call.ts';
import { describeFailure, type Log } from '../telemetry/log.ts';
import type { ClickThreadFunctions, ClickThreadMessage } from './click.thread.ts';
import { type HourFigures, HourWatch } from './compare-hours.ts';
import type { ConsumerThreadFunctions } from './consumer.thread.ts';
import { type LiveUpdate, WatchList } from './live.ts';
import { headPath, makeHeadsFolder, ProducerHeadFile } from './log-folder.ts';
import type { ReconcileThreadFunctions } from './reconcile.thread.ts';
import { knownDrift } from './reconcile.ts';
import { Recorder, rawBatchTransfers } from './recorder.ts';
import type { ClickSettings } from './settings.ts';
import { settlingHours } from './settling.ts';
import type { StatsThreadFunctions } from './stats.thread.ts';
import type { ClickReports, ClickSelection } from './stats.ts';

export interface ClicksOptions
  extends Omit<ClickSettings, 'logFolder' | 'warehousePath' | 'spillBytesMax' | 'producer'> {
  /** Whether this process counts clicks of a stream that processes share. */
  readonly counts: boolean;
  readonly dataFolder: string;
  readonly spillMbMax: number;
  readonly clock: Clock;
  /** Keeps running when a test stops `clock`. */
  readonly waitClock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly threads?: ClickThreads;
}

type ThreadCounts = Awaited<ReturnType<ClickThreadFunctions['counts']>>;

interface LatestCounts {
  thread: ThreadCounts | undefined;
  /** The counts of the counting thread, if it is a separate one. */
  counting: CountingCounts | undefined;
  /** The drift of the last day's settled hours; undefined while none of them is settled. */
  drift: number | undefined;
  /** How many hours of the last day are not settled. */
  settlingHours: number | undefined;
  /** The figures of the last day's hours. */
  hours: HourFigures | undefined;
}

export interface Clicks {
  readonly recorder: Recorder;
  readonly reports: ClickReports;
  /** The last known state of the other threads' work, a few seconds old. */
  readonly latest: Readonly<LatestCounts>;
  /** Sends, stores and counts everything recorded so far. */
  close(): Promise<void>;
}

const bytesPerMb = 1024 * 1024;
const countsPeriodMs = 2_000;
const driftPeriodMs = 60_000;
const driftWindowMs = 24 * 60 * 60_000;
/** An hour at a time, so that each hour of a day is checked every two hours. */
const hourWatchPeriodMs = 5 * 60_000;
/** How long to wait after a failed recount of days that an earlier version counted. */
const recountAgainMs = 60_000;
/** Each occupies one of the places that all questions about clicks share (http/server.ts). */
const filteredWaitingMax = 16;
const closePollMs = 5;
const closeMaxMs = 10_000;

export function startClicks(options: ClicksOptions): Clicks {
  const {
    counts,
    dataFolder,
    spillMbMax,
    clock,
    waitClock,
    random,
    log,
    threads = systemThreads,
    ...given
  } = options;
  const isEmbedded = given.stream === 'embedded';
  const producer = `${clock.now().toString(36)}-${Buffer.from(random.bytes(6)).toString('hex')}`;
  const settings: ClickSettings = {
    ...given,
    logFolder: join(dataFolder, isEmbedded ? 'clicks' : 'kafka'),
    warehousePath: join(dataFolder, 'stats.db'),
    spillBytesMax: spillMbMax * bytesPerMb,
    producer,
  };
  makeHeadsFolder(settings.logFolder);

  let clickThread: Worker;
  const thread = new ThreadCaller<ClickThreadFunctions>({
    postMessage: message => clickThread.postMessage(message),
  });
  const head = new ProducerHeadFile(headPath(settings.logFolder, producer));
  // The thread beats from later on, and a silent producer is presumed dead.
  head.beat(waitClock.now());
  const recorder = new Recorder({
    clock,
    head,
    send: batch => clickThread.postMessage(batch, rawBatchTransfers(batch)),
  });
  const watchers = new WatchList(codes => {
    thread.call('watch', codes).catch(() => undefined);
  });
  const startClickThread = (): void => {
    clickThread = threads.click(settings);
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

  const counting =
    isEmbedded || !counts ? undefined : startCounting(settings, log, waitClock, threads.consumer);
  const onAnswererFailed = (detail: string): void =>
    log.error('a thread that answers questions about clicks failed', { detail });
  const answerer = 'the thread that answers questions about clicks';
  const lazyStats = (): LazyThread<StatsThreadFunctions> =>
    lazyThread<StatsThreadFunctions>(answerer, () => threads.stats(settings), onAnswererFailed);
  const stats = lazyStats();
  // Filters read clicks one by one, which takes seconds for very many: other questions must not wait for that.
  const filtering = lazyStats();
  let filteredWaiting = 0;
  const askAbout = async <Answer>(
    { filters }: Pick<ClickSelection, 'filters'>,
    ask: (thread: ThreadCaller<StatsThreadFunctions>) => Promise<Answer>,
  ): Promise<Answer> => {
    if (filters.length === 0) return ask(stats.caller);
    if (filteredWaiting >= filteredWaitingMax)
      throw new Problem('overloaded', {
        detail: 'Too many filtered statistics are being computed; try again in a moment.',
        headers: { 'Retry-After': '1' },
      });
    filteredWaiting += 1;
    try {
      return await ask(filtering.caller);
    } finally {
      filteredWaiting -= 1;
    }
  };
  const reconciling = lazyThread<ReconcileThreadFunctions>(
    answerer,
    () => threads.reconcile(settings),
    onAnswererFailed,
  );
  const latest: LatestCounts = {
    thread: undefined,
    counting: undefined,
    drift: undefined,
    settlingHours: undefined,
    hours: undefined,
  };
  const refreshCounts = async (): Promise<void> => {
    latest.thread = await thread.call('counts');
    latest.counting = await counting?.counts();
    if ((latest.thread.warehouse?.legacyUntil ?? 0) > 0 && !isRecounting) void recountLegacy();
  };
  /** Days that an earlier version counted are recounted from the log, once per start. */
  let isRecounting = false;
  const recountLegacy = async (): Promise<void> => {
    isRecounting = true;
    for (;;) {
      const progress = await reconciling.caller.call('recountLegacy').catch((error: unknown) => {
        log.warn('clicks of an earlier version cannot be recounted now', { failure: describeFailure(error) });
        return undefined;
      });
      if (progress === undefined) {
        clock.after(recountAgainMs, () => {
          isRecounting = false;
        });
        return;
      }
      const { until, isOver } = progress;
      const day = new Date(until - 1).toISOString().slice(0, 10);
      if (isOver) {
        if (until > 0) log.info('click counts of an earlier version stay as they are', { until: day });
        return;
      }
      log.info('clicks of a day were recounted for better statistics', { day });
    }
  };
  const refreshDrift = async (): Promise<void> => {
    const now = clock.now();
    const account = await stats.caller.call('reconcile', now - driftWindowMs, now + driftWindowMs);
    latest.drift = knownDrift(account);
    latest.settlingHours = settlingHours(account.settledUntil, now);
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
  // Of processes that share a stream, only the counting ones report the drift: others would report the same.
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
      stats: query => askAbout(query, thread => thread.call('stats', query)),
      totals: links => stats.caller.call('totals', links),
      clicksBy: (links, starts, to) => stats.caller.call('clicksBy', links, starts, to),
      breakdown: query => askAbout(query, thread => thread.call('breakdown', query)),
      recent: question => askAbout(question, thread => thread.call('recent', question)),
      ranking: question => stats.caller.call('ranking', question),
      exportPart: (filter, cursor) => stats.caller.call('exportPart', filter, cursor),
      reconcile: (from, to) => stats.caller.call('reconcile', from, to),
      compareHours: (from, to, countsStream) => reconciling.caller.call('compare', from, to, countsStream),
      recountAll: () => thread.call('recountAll'),
      recountDays: (from, to) => reconciling.caller.call('recountDays', from, to),
      // Clicks of this very millisecond are deleted, too.
      forget: code => thread.call('forget', code, clock.now() + 1),
      watchers,
    },
    latest,
    async close() {
      stopCounts();
      stopDrift();
      stopHours();
      recorder.close();
      const deadlineMs = waitClock.monotonicMs() + closeMaxMs;
      while (recorder.pending > 0 && waitClock.monotonicMs() < deadlineMs) {
        await sleep(waitClock, closePollMs);
        recorder.flush();
      }
      const stopped = thread
        .call('stop')
        .catch(error => log.error('clicks did not stop cleanly', { failure: describeFailure(error) }));
      await endsWithin(waitClock, closeMaxMs, stopped);
      clickThread.terminate();
      await counting?.stop();
      stats.terminate();
      filtering.terminate();
      reconciling.terminate();
    },
  };
}

/** How each thread is started. */
export type ClickThreads = Readonly<
  Record<'click' | 'consumer' | 'stats' | 'reconcile', (settings: ClickSettings) => Worker>
>;

const systemThreads: ClickThreads = {
  click: settings => startThread(new URL('./click.thread.ts', import.meta.url), settings, { smol: true }),
  consumer: settings =>
    startThread(new URL('./consumer.thread.ts', import.meta.url), settings, { smol: true }),
  stats: settings => startThread(new URL('./stats.thread.ts', import.meta.url), settings, { smol: true }),
  reconcile: settings => startThread(new URL('./reconcile.thread.ts', import.meta.url), settings),
};

/** The thread that counts clicks from Kafka, if this process does that. It is restarted when it fails. */
export type CountingCounts = ReturnType<ConsumerThreadFunctions['counts']>;

export interface Counting {
  counts(): Promise<CountingCounts>;
  /** Releases our partitions, after counting what is planned. */
  stop(): Promise<void>;
}

/** Long enough for a block to be counted and for the group to be left. */
const stopMaxMs = 10_000;
const restartPauseMs = 1_000;

export function startCounting(
  settings: ClickSettings,
  log: Log,
  clock: Clock,
  start: ClickThreads['consumer'] = systemThreads.consumer,
): Counting {
  const thread = new SupervisedThread({
    start: () => start(settings),
    onMessage(data: ClickThreadMessage) {
      if (!caller.take(data) && data.kind === 'problem') log.warn(data.what, { detail: data.detail });
    },
    onFailure(detail) {
      log.error('the thread that counts clicks failed and is started again', { detail });
      caller.abandon('the thread that counts clicks failed');
    },
    restartPauseMs,
    clock,
  });
  const caller = new ThreadCaller<ConsumerThreadFunctions>(thread);
  return {
    counts: () => caller.call('counts'),
    async stop() {
      const stopped = caller
        .call('stop')
        .catch(error => log.error('counting did not stop cleanly', { failure: describeFailure(error) }));
      await endsWithin(clock, stopMaxMs, stopped);
      thread.stop();
    },
  };
}
