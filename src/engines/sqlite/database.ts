/**
 * Opening SQLite the one way Terse uses it: write-ahead log, so readers never wait for the writer, and
 * `synchronous=FULL`, so a committed transaction survives a power cut. Several processes may open one file;
 * SQLite lets one of them write at a time and `withBusyRetry` makes the others wait their turn.
 */
import { Database } from 'bun:sqlite';
import { systemClock } from '../../base/clock.ts';
import { systemRandom } from '../../base/random.ts';

/** Past this a writer gives up and the caller gets a 503 rather than waiting forever. */
const busyMaxMs = 15_000;
const busyPauseMinMs = 0.1;
const busyPauseMaxMs = 2;

export function openForWriting(path: string): Database {
  const database = new Database(path, { create: true, readwrite: true, strict: true });
  database.run('PRAGMA busy_timeout = 0');
  withBusyRetry(() => database.run('PRAGMA journal_mode = WAL'));
  database.run('PRAGMA synchronous = FULL');
  database.run('PRAGMA foreign_keys = ON');
  database.run('PRAGMA temp_store = MEMORY');
  database.run('PRAGMA cache_size = -65536');
  // The default of 1,000 pages checkpoints so often at thousands of creates a second that it costs
  // more than the commits; 8,000 pages (32 MB of log) amortises it and still recovers in milliseconds.
  database.run('PRAGMA wal_autocheckpoint = 8000');
  return database;
}

/** A connection that cannot write, for the thread that serves requests. */
export function openForReading(path: string): Database {
  const database = new Database(path, { readwrite: true, strict: true });
  database.run('PRAGMA busy_timeout = 2000');
  database.run('PRAGMA query_only = ON');
  // Enough for the upper pages of the trees, the only ones that are read again and again: the system has the others.
  database.run('PRAGMA cache_size = -2048');
  // Not mapped into memory. Where the file is larger than memory, a fault reads ahead by as much as the disk is
  // set to, megabytes for one link, and stops every request while it does; a plain read takes the page it needs.
  database.run('PRAGMA mmap_size = 0');
  return database;
}

/**
 * Runs `attempt` until it is not refused as busy. SQLite's own busy handler backs off to 100 ms, which lets
 * eight writers starve one another; short jittered pauses hand the lock over within a millisecond or two.
 * Blocks the thread, so only writer threads and start-up may call it.
 */
export function withBusyRetry<Result>(attempt: () => Result, waitMaxMs = busyMaxMs): Result {
  const deadlineMs = systemClock.monotonicMs() + waitMaxMs;
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error) || systemClock.monotonicMs() > deadlineMs) throw error;
      pauseThread(busyPauseMinMs + systemRandom.float() * (busyPauseMaxMs - busyPauseMinMs));
    }
  }
}

export function isBusy(error: unknown): boolean {
  return error instanceof Error && /^SQLITE_(BUSY|LOCKED)/.test((error as { code?: string }).code ?? '');
}

const pauseCell = new Int32Array(new SharedArrayBuffer(4));

function pauseThread(durationMs: number): void {
  Atomics.wait(pauseCell, 0, 0, durationMs);
}
