/** Archives clicks in a separate thread, if the settings name an archive. */
import { join } from 'node:path';
import { type Clock, systemClock } from '../base/clock.ts';
import { SupervisedThread, startThread } from '../base/supervised-thread.ts';
import { ThreadCaller } from '../base/thread-call.ts';
import { awsKeysOfProcess, type Config } from '../config/config.ts';
import { describeFailure, type Log } from '../telemetry/log.ts';
import { byLabel, oneValue } from '../telemetry/metric-table.ts';
import type { Metric } from '../telemetry/metrics.ts';
import type { ArchiveProblem, ArchiveThreadFunctions, ArchiveThreadSettings } from './archive.thread.ts';
import type { ArchiverFigures } from './archive.ts';

export interface Archiving {
  metrics(): Metric[];
  stop(): void;
}

export interface ArchivingOptions {
  readonly config: Pick<Config, 'archive' | 'clicks' | 'data' | 'stream'>;
  /** Whether this process archives; it does so for all processes of the machine. */
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
  let figures: ArchiverFigures | undefined;
  const thread = new SupervisedThread({
    start: () => startThread(new URL('./archive.thread.ts', import.meta.url), settings),
    onMessage(data: ArchiveProblem) {
      if (!caller.take(data)) log.warn(data.what, { detail: data.detail });
    },
    onFailure(detail) {
      log.error('the thread that archives clicks failed and is started again', { detail });
      caller.abandon('the thread that archives clicks failed');
    },
    restartPauseMs,
    clock: systemClock,
  });
  const caller = new ThreadCaller<ArchiveThreadFunctions>(thread);
  const refresh = async (): Promise<void> => {
    figures = await caller.call('figures');
  };
  const stopFigures = clock.every(figuresPeriodMs, () => {
    refresh().catch(error =>
      log.debug('the archive cannot be measured', { failure: describeFailure(error) }),
    );
  });
  return {
    metrics: () => (figures === undefined ? [] : archiveMetrics(figures)),
    stop() {
      stopFigures();
      thread.stop();
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
