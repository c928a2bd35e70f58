/**
 * A graceful stop within a deadline. Requests in progress are finished, but no client decides when the process ends: a
 * client that never stops reading or sending is cut off, and if closing one part fails, the others are still closed.
 */

import { isatty } from 'node:tty';
import { type Clock, systemClock } from '../base/clock.ts';
import { endsWithin } from '../base/deadline.ts';
import { describeFailure, type Log } from '../telemetry/log.ts';

export interface ShutdownPolicy {
  /** Seconds without a request after which a client is not expected to send one just now. */
  readonly idleGraceTicks: number;
  /** How long a client may take to finish. */
  readonly finishMaxMs: number;
}

/** The server ends. Most orchestrators kill after ten seconds, and clicks are still to be stored. */
export const terminate: ShutdownPolicy = { idleGraceTicks: 0, finishMaxMs: 5_000 };

/** Others keep serving the port: no client is rejected during the handover, and a long import completes. */
export const handover: ShutdownPolicy = { idleGraceTicks: 2, finishMaxMs: 30_000 };

interface StoppableServer {
  /** Accepts no more connections; resolves when the existing ones have had their answers. */
  drain(idleGraceTicks: number): Promise<void>;
  /** Closes the others. */
  cutOff(): void;
}

/** May be called again with a shorter deadline. */
export async function stopServer(
  server: StoppableServer,
  clock: Clock,
  { idleGraceTicks, finishMaxMs }: ShutdownPolicy,
): Promise<void> {
  if (!(await endsWithin(clock, finishMaxMs, server.drain(idleGraceTicks)))) server.cutOff();
}

/** Runs every step in order, also after one that fails; then throws the first failure. */
export async function closeAll(steps: readonly (() => unknown)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const step of steps) {
    try {
      await step();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

/**
 * What signals request. SIGTERM and SIGINT: the first requests a graceful stop, a later one an immediate stop.
 * SIGHUP requests new workers, unless it means that the terminal is closed: then there is no other way left to stop
 * us, and it requests a graceful stop too.
 */
export interface SignalWishes {
  stop(): Promise<void>;
  /** Before the process ends immediately. */
  abandon?(): void;
  replace(): void;
}

/** A terminal and the process that started the server may both forward one signal. */
const sameWishMs = 500;

/** Resolves once a requested stop is done; never without a request. A stop that fails ends the process. */
export function onSignals(log: Log, { stop, abandon, replace }: SignalWishes): Promise<void> {
  const hadTerminal = isatty(0);
  return new Promise(resolve => {
    let receivedAtMs: number | undefined;
    const stopFor = (signal: NodeJS.Signals): void => {
      const nowMs = systemClock.monotonicMs();
      if (receivedAtMs !== undefined) {
        if (nowMs - receivedAtMs <= sameWishMs) return;
        abandon?.();
        process.exit(1);
      }
      receivedAtMs = nowMs;
      log.info('stopping', { signal });
      stop().then(resolve, error => {
        log.error('the server did not stop cleanly', { failure: describeFailure(error) });
        log.finish();
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
