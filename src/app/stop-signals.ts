/**
 * What signals ask for. SIGTERM and SIGINT: the first is a wish to stop well, a later one is somebody out of patience.
 * SIGHUP asks for new workers, unless it says that the terminal is gone: then nobody is left to stop us in any other
 * way, and it is such a wish too.
 */
import { isatty } from 'node:tty';
import { systemClock } from '../base/clock.ts';
import { describeFailure, type Log } from '../ops/log.ts';

export interface SignalWishes {
  stop(): Promise<void>;
  /** Before the process ends at once. */
  abandon?(): void;
  replace(): void;
}

/** A terminal and whatever started the server may both pass one signal on. */
const sameWishMs = 500;

/** Resolves once a wished stop is done; never when none is wished. A stop that fails ends the process. */
export function onSignals(log: Log, { stop, abandon, replace }: SignalWishes): Promise<void> {
  const hadTerminal = isatty(0);
  return new Promise(resolve => {
    let toldAtMs: number | undefined;
    const stopFor = (signal: NodeJS.Signals): void => {
      const nowMs = systemClock.monotonicMs();
      if (toldAtMs !== undefined) {
        if (nowMs - toldAtMs <= sameWishMs) return;
        abandon?.();
        process.exit(1);
      }
      toldAtMs = nowMs;
      log.info('stopping', { signal });
      stop().then(resolve, error => {
        log.error('the server did not stop well', { failure: describeFailure(error) });
        log.flush();
        process.exit(1);
      });
    };
    process.on('SIGTERM', stopFor);
    process.on('SIGINT', stopFor);
    process.on('SIGHUP', signal => {
      if (hadTerminal && !isatty(0)) stopFor(signal);
      else replace();
    });
  });
}
