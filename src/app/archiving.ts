/** Archives clicks in a thread of its own, where the settings name an archive. */
import { join } from 'node:path';
import { type Clock, systemClock } from '../base/clock.ts';
import { ThreadCaller } from '../base/thread-call.ts';
import type { ArchiverFigures } from '../clicks/archive.ts';
import { describeFailure, type Log } from '../ops/log.ts';
import type { Metric } from '../ops/metrics.ts';
import type { ArchiveProblem, ArchiveThreadFunctions, ArchiveThreadSettings } from './archive-thread.ts';
import { awsKeysOfProcess, type Config } from './config.ts';
import { byLabel, oneValue } from './metric-table.ts';

export interface Archiving {
  metrics(): Metric[];
  stop(): void;
}

export interface ArchivingOptions {
  readonly config: Pick<Config, 'archive' | 'clicks' | 'data' | 'stream'>;
  /** Whether it is for this process to do; the others of the machine share the log, or leave Kafka to it. */
  readonly isOurs: boolean;
  readonly clock: Clock;
  readonly log: Log;
}

const figuresPeriodMs = 5_000;
const restartPauseMs = 5_000;

export function startArchiving({ config, isOurs, clock, log }: ArchivingOptions): Archiving {
  const keys = awsKeysOfProcess();
  if (config.archive === undefined || keys === undefined || !config.clicks || !isOurs)
    return { metrics: () => [], stop: () => {} };
  const settings: ArchiveThreadSettings = {
    address: config.archive,
    keys,
    stream: config.stream,
    logFolder: join(config.data, 'clicks'),
  };
  let worker: Worker;
  let isOver = false;
  let figures: ArchiverFigures | undefined;
  const thread = new ThreadCaller<ArchiveThreadFunctions>({
    postMessage: message => worker.postMessage(message),
  });
  const start = (): void => {
    worker = new Worker(new URL('./archive-thread.ts', import.meta.url));
    worker.postMessage(settings);
    worker.onmessage = ({ data }: MessageEvent<ArchiveProblem>) => {
      if (!thread.take(data)) log.warn(data.what, { detail: data.detail });
    };
    worker.onerror = event => {
      log.error('the thread that archives clicks failed and is started again', { detail: event.message });
      worker.terminate();
      thread.abandon('the thread that archives clicks failed');
      systemClock.after(restartPauseMs, () => {
        if (!isOver) start();
      });
    };
  };
  start();
  const refresh = async (): Promise<void> => {
    figures = await thread.call('figures');
  };
  const stopFigures = clock.every(figuresPeriodMs, () => {
    refresh().catch(error =>
      log.debug('the archive cannot be measured', { failure: describeFailure(error) }),
    );
  });
  return {
    metrics: () => (figures === undefined ? [] : archiveMetrics(figures)),
    stop() {
      isOver = true;
      stopFigures();
      worker.terminate();
    },
  };
}

function archiveMetrics({ archived, lost, waiting, lastDayAt, failures }: ArchiverFigures): Metric[] {
  return [
    byLabel('terse_archive_days', { archived, waiting, lost }),
    oneValue('terse_archive_last_day_timestamp_seconds', lastDayAt / 1_000),
    oneValue('terse_archive_failures_total', failures),
  ];
}
