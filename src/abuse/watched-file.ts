/**
 * A file that an operator may change at any time, watched by polling several times a second. (File system notifications
 * get lost on network drives and name the wrong file when one is replaced.)
 *
 * Invariant: the active version is always one whole version of the file. A file that is missing, unreadable, still
 * being written or rejected by its loader leaves the previous version active, and `status()` and `onFault` report it.
 */
import { stat } from 'node:fs/promises';
import type { Clock } from '../base/clock.ts';

export interface WatchedFileOptions<Value> {
  readonly path: string;
  /**
   * Parses the file, or throws what is wrong with it. `current` is the active version. Throws `HeldBack` for a file
   * that looks wrong but may be intended; after a while it is called again with `isInsisted`.
   */
  readonly load: (path: string, current: Value | undefined, isInsisted: boolean) => Promise<Value>;
  readonly clock: Clock;
  readonly onLoaded: (value: Value) => void;
  /** Called once for each new fault. */
  readonly onFault: (fault: string) => void;
  readonly pollMs?: number;
}

export interface FileStatus {
  readonly path: string;
  /** `kept`: something is wrong with the file, and an earlier version is active. `absent`: none is. */
  readonly state: 'loaded' | 'kept' | 'absent';
  /** When the active version was loaded; milliseconds since the epoch. */
  readonly loadedAt: number | null;
  readonly fault: string | null;
}

export interface WatchedFile {
  /** Polls once; happens automatically after `start`. */
  poll(): Promise<void>;
  /** Loads the file for the first time, then watches it until the returned function is called. */
  start(): Promise<() => void>;
  status(): FileStatus;
}

export class HeldBack extends Error {
  override readonly name = 'HeldBack';
}

const pollMsDefault = 100;
const heldBackMs = 60_000;
/** A file that keeps changing between polls for longer than this is reported. */
const unsettledMaxMs = 5_000;

export function watchFile<Value>(options: WatchedFileOptions<Value>): WatchedFile {
  const { path, load, clock, onLoaded, onFault, pollMs = pollMsDefault } = options;
  let current: Value | undefined;
  let loadedAt: number | null = null;
  let fault: string | null = null;
  /** The file's fingerprint when it was loaded, when it was rejected, and at the last poll. */
  let loadedVersion: string | undefined;
  let rejectedVersion: string | undefined;
  let seenVersion: string | undefined;
  let seenSinceMs = 0;
  let settledAtMs = clock.monotonicMs();
  let isHeldBack = false;
  let busy = false;

  function report(text: string): void {
    if (fault === text) return;
    fault = text;
    onFault(text);
  }

  async function take(version: string, isInsisted: boolean): Promise<void> {
    try {
      const value = await load(path, current, isInsisted);
      // A file that changed while it was read may be half old and half new.
      if ((await versionOf(path)) !== version) return;
      current = value;
      loadedAt = clock.now();
      [loadedVersion, rejectedVersion, fault, isHeldBack] = [version, undefined, null, false];
      onLoaded(value);
    } catch (error) {
      rejectedVersion = version;
      isHeldBack = error instanceof HeldBack;
      report(error instanceof Error ? error.message : String(error));
    }
  }

  async function look(isFirst: boolean): Promise<void> {
    const nowMs = clock.monotonicMs();
    const version = await versionOf(path);
    const isSettled = isFirst || version === seenVersion;
    if (!isSettled) {
      seenVersion = version;
      seenSinceMs = nowMs;
      if (nowMs - settledAtMs > unsettledMaxMs) report('the file is still being written');
      return;
    }
    [seenVersion, settledAtMs] = [version, nowMs];
    if (version === undefined) return report('the file is missing');
    if (version === loadedVersion) {
      // The file is the active version again, for example after it was moved away and back.
      [rejectedVersion, fault] = [undefined, null];
    } else if (version !== rejectedVersion) {
      await take(version, false);
    } else if (isHeldBack && nowMs - seenSinceMs >= heldBackMs) {
      await take(version, true);
    }
  }

  async function poll(isFirst = false): Promise<void> {
    if (busy) return;
    busy = true;
    await look(isFirst).finally(() => {
      busy = false;
    });
  }

  return {
    poll: () => poll(),
    async start() {
      await poll(true);
      return clock.every(pollMs, () => void poll());
    },
    status() {
      const state = fault === null ? 'loaded' : current === undefined ? 'absent' : 'kept';
      return { path, state, loadedAt, fault };
    },
  };
}

/** Changes whenever the file is written or replaced; undefined when it cannot be read. */
async function versionOf(path: string): Promise<string | undefined> {
  try {
    const { mtimeMs, ctimeMs, size, ino } = await stat(path);
    return `${mtimeMs} ${ctimeMs} ${size} ${ino}`;
  } catch {
    return undefined;
  }
}
