/**
 * A file that an operator may change at any time, followed by looking at it several times a second. (Notifications of
 * the system get lost on network drives and name the wrong file when one is replaced.)
 *
 * Invariant: what is in force is always one whole version of the file. A file that is missing, unreadable, still being
 * written or refused by its loader leaves the version before in force, and `status()` and `onFault` say so.
 */
import { stat } from 'node:fs/promises';
import type { Clock } from '../base/clock.ts';

export interface WatchedFileOptions<Value> {
  readonly path: string;
  /**
   * Makes sense of the file, or throws what is wrong with it. `current` is what is in force. Throws `HeldBack` for
   * what looks wrong but may be meant; after a while it is asked again with `isInsisted`.
   */
  readonly load: (path: string, current: Value | undefined, isInsisted: boolean) => Promise<Value>;
  readonly clock: Clock;
  readonly onLoaded: (value: Value) => void;
  /** Called once for each new thing that is wrong. */
  readonly onFault: (fault: string) => void;
  readonly pollMs?: number;
}

export interface FileStatus {
  readonly path: string;
  /** `kept`: something is wrong with the file, and an earlier version of it is in force. `absent`: nothing is. */
  readonly state: 'loaded' | 'kept' | 'absent';
  /** When the version in force was loaded; milliseconds since the epoch. */
  readonly loadedAt: number | null;
  readonly fault: string | null;
}

export interface WatchedFile {
  /** Looks once; done by itself after `start`. */
  poll(): Promise<void>;
  /** Loads the file for the first time, then follows it until the returned function is called. */
  start(): Promise<() => void>;
  status(): FileStatus;
}

export class HeldBack extends Error {
  override readonly name = 'HeldBack';
}

const pollMsDefault = 100;
const heldBackMs = 60_000;
/** A file that changes from look to look for longer than this is worth a word. */
const unsettledMaxMs = 5_000;

export function watchFile<Value>(options: WatchedFileOptions<Value>): WatchedFile {
  const { path, load, clock, onLoaded, onFault, pollMs = pollMsDefault } = options;
  let current: Value | undefined;
  let loadedAt: number | null = null;
  let fault: string | null = null;
  /** What the file looked like when it was loaded, when it was refused, and when last looked at. */
  let loadedMark: string | undefined;
  let refusedMark: string | undefined;
  let seenMark: string | undefined;
  let seenSinceMs = 0;
  let settledAtMs = clock.monotonicMs();
  let isHeldBack = false;
  let busy = false;

  function report(text: string): void {
    if (fault === text) return;
    fault = text;
    onFault(text);
  }

  async function take(mark: string, isInsisted: boolean): Promise<void> {
    try {
      const value = await load(path, current, isInsisted);
      // What changed while it was read may be half of the old and half of the new.
      if ((await markOf(path)) !== mark) return;
      current = value;
      loadedAt = clock.now();
      [loadedMark, refusedMark, fault, isHeldBack] = [mark, undefined, null, false];
      onLoaded(value);
    } catch (error) {
      refusedMark = mark;
      isHeldBack = error instanceof HeldBack;
      report(error instanceof Error ? error.message : String(error));
    }
  }

  async function look(isFirst: boolean): Promise<void> {
    const nowMs = clock.monotonicMs();
    const mark = await markOf(path);
    const isSettled = isFirst || mark === seenMark;
    if (!isSettled) {
      seenMark = mark;
      seenSinceMs = nowMs;
      if (nowMs - settledAtMs > unsettledMaxMs) report('the file is still being written');
      return;
    }
    [seenMark, settledAtMs] = [mark, nowMs];
    if (mark === undefined) return report('the file is missing');
    if (mark === loadedMark) {
      // Back to what is in force, as after a file was moved away and back.
      [refusedMark, fault] = [undefined, null];
    } else if (mark !== refusedMark) {
      await take(mark, false);
    } else if (isHeldBack && nowMs - seenSinceMs >= heldBackMs) {
      await take(mark, true);
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

/** Changes whenever the file is written or replaced; undefined when it cannot be seen. */
async function markOf(path: string): Promise<string | undefined> {
  try {
    const { mtimeMs, ctimeMs, size, ino } = await stat(path);
    return `${mtimeMs} ${ctimeMs} ${size} ${ino}`;
  } catch {
    return undefined;
  }
}
