/** SIGTERM and SIGINT: the first is a wish to stop well, a later one is somebody out of patience. */
import { systemClock } from '../base/clock.ts';
import { describeFailure, type Log } from '../ops/log.ts';

/** A terminal and whatever started the server may both pass one signal on. */
const sameWishMs = 500;

/** Resolves once a wished stop is done; never when none is wished. A stop that fails ends the process. */
export function onStopSignals(log: Log, stop: () => Promise<void>): Promise<void> {
  return new Promise(resolve => {
    let toldAtMs: number | undefined;
    const onSignal = (signal: NodeJS.Signals): void => {
      const nowMs = systemClock.monotonicMs();
      if (toldAtMs !== undefined) {
        if (nowMs - toldAtMs > sameWishMs) process.exit(1);
        return;
      }
      toldAtMs = nowMs;
      log.info('stopping', { signal });
      stop().then(resolve, error => {
        log.error('the server did not stop well', { failure: describeFailure(error) });
        log.flush();
        process.exit(1);
      });
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
  });
}
