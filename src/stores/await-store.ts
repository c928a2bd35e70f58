/**
 * Waits for a store that is a separate server. When everything starts with the machine, the store may start later than
 * Terse. A Terse server waits without a limit, because it can report meanwhile what it waits for (waiting-room.ts);
 * every other process waits for half a minute. A failure that waiting cannot fix, such as a wrong password, is reported
 * at once. A failure is always one line that says where and why.
 */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { backoffMs } from '../base/backoff.ts';
import { type Clock, sleep, stayAlive } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import type { Random } from '../base/random.ts';
import { ConfigError } from '../config/sources.ts';
import type { Log } from '../telemetry/log.ts';

/** How the caller that opens a store waits for it. */
export interface WaitPolicy {
  readonly waitMaxMs?: number;
  /** The store did not answer at the first attempt. */
  readonly onDown?: () => void;
  /** Whether the wait was cancelled. */
  readonly isGivenUp?: () => boolean;
}

export interface AwaitStoreOptions extends WaitPolicy {
  /** Such as `Postgres at db.example/terse`; names no secret. */
  readonly name: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log?: Log | undefined;
  /** Whether a retry is pointless. */
  readonly isHopeless?: (error: unknown) => boolean;
}

const waitMaxMsDefault = 30_000;
const pause = { minMs: 100, maxMs: 2_000 };
/** A wait of hours need not log every other second. */
const logEveryMs = 30_000;

/** `open` may be called many times. */
export async function awaitStore<Result>(
  open: () => Promise<Result>,
  { name, clock, random, log, isHopeless = () => false, waitMaxMs, onDown, isGivenUp }: AwaitStoreOptions,
): Promise<Result> {
  // So far, nothing else may keep the process running.
  const letGo = stayAlive();
  const startedMs = clock.monotonicMs();
  const endMs = startedMs + (waitMaxMs ?? waitMaxMsDefault);
  let reported: { readonly reason: string; readonly atMs: number } | undefined;
  try {
    for (let failures = 1; ; failures += 1) {
      try {
        const opened = await open();
        const waitedS = Math.round((clock.monotonicMs() - startedMs) / 1_000);
        if (reported !== undefined) log?.info('the store is available', { store: name, waitedS });
        return opened;
      } catch (error) {
        const nowMs = clock.monotonicMs();
        const reason = reasonOf(error);
        const isDown = error instanceof Problem && error.code === 'store_unavailable' && !isHopeless(error);
        if (!isDown || nowMs + backoffMs(failures, pause) > endMs || isGivenUp?.() === true) {
          throw new Error(`${name} cannot be used: ${reason}`, { cause: error });
        }
        if (reported === undefined) onDown?.();
        if (reported?.reason !== reason || nowMs - reported.atMs >= logEveryMs) {
          reported = { reason, atMs: nowMs };
          log?.warn('waiting for the store', { store: name, reason });
        }
        await sleep(clock, backoffMs(failures, pause, random));
      }
    }
  } finally {
    letGo();
  }
}

/** The message of the innermost cause that has one. */
function reasonOf(error: unknown, causesMax = 5): string {
  if (!(error instanceof Error)) return String(error);
  const inner = error.cause === undefined || causesMax === 0 ? '' : reasonOf(error.cause, causesMax - 1);
  return inner === '' ? error.message : inner;
}

/**
 * Prevents a server from starting on an incomplete installation, whose changes the migration would undo. `progress` is
 * that of a migration into this store, if there was one.
 */
export function requireFinished(progress: string | undefined): void {
  if (progress === undefined) return;
  const { phase, from } = JSON.parse(progress) as { phase: string; from: string };
  if (phase === 'finished') return;
  throw new Error(
    `the store holds an unfinished copy of ${from}: finish it with \`terse migrate --final\`, or choose another store`,
  );
}

// A restore fills one folder inside the data folder, renames it when it is complete, and then moves its contents up. A
// server that started in between would create a new installation beside half of the old one.

/** The folder while it is being filled; worthless if the restore is abandoned. */
export const fillingFolder = (data: string): string => join(data, 'restore.filling');
/** The folder once complete; files that are still in it must be moved up. */
export const completeFolder = (data: string): string => join(data, 'restore.complete');

/** Prevents a server from starting on such a folder. */
export function requireWholeFolder(data: string): void {
  if (!existsSync(fillingFolder(data)) && !existsSync(completeFolder(data))) return;
  throw new ConfigError(
    `a backup is being restored into ${data}, or was when it was cut off: run \`terse restore\` again to finish it`,
    'run `terse restore` again with the same backup',
  );
}
