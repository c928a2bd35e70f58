/**
 * Limits that all processes of one data folder share. The buckets are worked on by a thread, which the first
 * limited request starts: a server that only its operator uses never has one.
 */
import { sleep, systemClock } from '../../../base/clock.ts';
import { ThreadCaller } from '../../../base/thread-call.ts';
import type { LimitDecision, RateLimiter, Spending } from '../../rate-limit.ts';

const closeMaxMs = 1_000;

/** What the thread answers to. */
export type LimitThreadFunctions = {
  take(spendings: readonly Spending[], now: number): LimitDecision;
  close(): void;
};

/** Starts a thread that answers to `LimitThreadFunctions`. */
export type StartLimitThread = () => Worker;

export function createSqliteLimiter(startThread: StartLimitThread): RateLimiter {
  let thread: Worker | undefined;
  const caller = new ThreadCaller<LimitThreadFunctions>({
    postMessage(message) {
      thread ??= started();
      thread.postMessage(message);
    },
  });
  const started = (): Worker => {
    const worker = startThread();
    worker.onmessage = ({ data }: MessageEvent<unknown>) => void caller.take(data);
    worker.onerror = event => {
      worker.terminate();
      thread = undefined;
      caller.abandon(`the limit thread failed: ${event.message}`);
    };
    return worker;
  };
  return {
    take: (spendings, now) => caller.call('take', spendings, now),
    async close() {
      if (thread === undefined) return;
      const closed = caller.call('close').catch(() => undefined);
      // A thread that waits for another process need not be waited for: it has nothing to save.
      await Promise.race([closed, sleep(systemClock, closeMaxMs)]);
      thread?.terminate();
      thread = undefined;
    },
  };
}
