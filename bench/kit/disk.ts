/** The limits of the disk: baselines for durable writes. */
import { closeSync, fsyncSync, openSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { openForWriting } from '../../src/engines/sqlite/database.ts';

const pageBytes = 4096;

/** Appends of one page that are each made durable, one after the other, per second. */
export function fsyncsPerSecond(folder: string, durationMs: number): number {
  const path = join(folder, 'fsync-probe');
  const file = openSync(path, 'w');
  const page = Buffer.alloc(pageBytes, 1);
  try {
    return perSecond(durationMs, () => {
      writeSync(file, page);
      fsyncSync(file);
    });
  } finally {
    closeSync(file);
    rmSync(path);
  }
}

/** Rows per second that SQLite commits in transactions of this size, configured like the store. */
export function rowsPerSecond(folder: string, durationMs: number, rowsPerCommit: number): number {
  const path = join(folder, 'commit-probe.db');
  const database = openForWriting(path);
  try {
    database.run('CREATE TABLE probe (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT');
    const insert = database.query('INSERT INTO probe (text) VALUES (?)');
    const text = 'https://example.com/'.padEnd(100, 'x');
    const commit = database.transaction(() => {
      for (let row = 0; row < rowsPerCommit; row += 1) insert.run(text);
    });
    return rowsPerCommit * perSecond(durationMs, () => commit.immediate());
  } finally {
    database.close();
    for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
  }
}

function perSecond(durationMs: number, step: () => void): number {
  const startedNs = Bun.nanoseconds();
  const endNs = startedNs + durationMs * 1e6;
  let steps = 0;
  while (Bun.nanoseconds() < endNs) {
    step();
    steps += 1;
  }
  return steps / ((Bun.nanoseconds() - startedNs) / 1e9);
}

/**
 * Transactions ever committed to a database in WAL mode while it is open: its shared index counts them in the 32-bit
 * word at this place (the file format calls it iChange). Reading it disturbs no other process.
 */
const changeCounterOffset = 8;

export function commitsOf(dataFolder: string): number {
  const index = new DataView(Uint8Array.from(readFileSync(join(dataFolder, 'terse.db-shm'))).buffer);
  return index.getUint32(changeCounterOffset, true);
}

/** The size of the database on disk, its log included. */
export function databaseBytes(dataFolder: string): number {
  return ['', '-wal'].reduce(
    (sum, suffix) =>
      sum + (statSync(join(dataFolder, `terse.db${suffix}`), { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
}

/** Drops a file from the kernel's page cache; false where that is not possible. */
export async function dropFromMemory(path: string): Promise<boolean> {
  if (Bun.which('dd') === null) return false;
  const command = ['dd', `of=${path}`, 'oflag=nocache', 'conv=notrunc,fdatasync', 'count=0'];
  return (await Bun.spawn(command, { stdout: 'ignore', stderr: 'ignore' }).exited) === 0;
}
