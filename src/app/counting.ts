/** The thread that counts what is in Kafka, where this process has that duty. It is started again when it fails. */
import { sleep, systemClock } from '../base/clock.ts';
import { ThreadCaller } from '../base/thread-call.ts';
import type { ClickSettings } from '../clicks/settings.ts';
import { describeFailure, type Log } from '../ops/log.ts';
import type { ClickThreadMessage } from './click-thread.ts';
import type { ConsumerThreadFunctions } from './consumer-thread.ts';

export type CountingCounts = ReturnType<ConsumerThreadFunctions['counts']>;

export interface Counting {
  counts(): Promise<CountingCounts>;
  /** Gives our partitions back, after counting what is planned. */
  stop(): Promise<void>;
}

/** Long enough for a block to be counted and for the group to be left. */
const stopMaxMs = 10_000;
const restartPauseMs = 1_000;

export function startCounting(settings: ClickSettings, log: Log): Counting {
  let worker: Worker;
  let isOver = false;
  const thread = new ThreadCaller<ConsumerThreadFunctions>({
    postMessage: message => worker.postMessage(message),
  });
  const start = (): void => {
    worker = new Worker(new URL('./consumer-thread.ts', import.meta.url));
    worker.postMessage(settings);
    worker.onmessage = ({ data }: MessageEvent<ClickThreadMessage>) => {
      if (!thread.take(data) && data.kind === 'problem') log.warn(data.what, { detail: data.detail });
    };
    worker.onerror = event => {
      log.error('the thread that counts clicks failed and is started again', { detail: event.message });
      worker.terminate();
      thread.abandon('the thread that counts clicks failed');
      systemClock.after(restartPauseMs, () => {
        if (!isOver) start();
      });
    };
  };
  start();
  return {
    counts: () => thread.call('counts'),
    async stop() {
      isOver = true;
      const stopped = thread
        .call('stop')
        .catch(error => log.error('counting did not end well', { failure: describeFailure(error) }));
      await Promise.race([stopped, sleep(systemClock, stopMaxMs)]);
      worker.terminate();
    },
  };
}
