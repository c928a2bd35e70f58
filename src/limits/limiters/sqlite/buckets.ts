/**
 * Buckets that several processes share, each reading and writing them in one immediate transaction, so that two of them
 * never spend the same token. Runs on its own thread, because it waits for the other processes. Invariant: the file
 * identifies no person. Keys are addresses and accounts, and only their keyed hashes are written.
 */
import { Database } from 'bun:sqlite';
import { rmSync, statSync } from 'node:fs';
import { openForWriting, withBusyRetry } from '../../../engines/sqlite/database.ts';
import { type MigrationSet, migrate } from '../../../engines/sqlite/migrations.ts';
import { type BucketLevel, fullAt, hashedKey, takeFromAll } from '../../bucket.ts';
import type { LimitDecision, Spending } from '../../rate-limit.ts';

export interface SqliteBucketsOptions {
  readonly path: string;
  readonly secret: Uint8Array;
  /** How long to wait for other processes; past it the caller gets an error. */
  readonly busyMaxMs: number;
  /** How large the file may grow. */
  readonly pagesMax?: number;
}

/** Some six hundred thousand buckets in 64 MiB. */
const defaultPagesMax = 16_384;

/** How often full buckets are deleted, and how many at most: more than can have been added since. */
const takesPerSweep = 64;
const sweptMax = 256;
/** How many of the buckets that are full soonest are evicted when the file has no room for another. */
const evictedMax = 1_000;

export class SqliteBuckets {
  readonly #options: SqliteBucketsOptions;
  readonly #pagesMax: number;
  #open: ReturnType<typeof prepare> | undefined;
  #takes = 0;

  constructor(options: SqliteBucketsOptions) {
    this.#options = options;
    this.#pagesMax = options.pagesMax ?? defaultPagesMax;
  }

  take(spendings: readonly Spending[], now: number): LimitDecision {
    try {
      const { secret } = this.#options;
      this.#takes += 1;
      const { take, sweep, evict } = this.#current();
      if (this.#takes % takesPerSweep === 0) this.#inTransaction(() => sweep(now, sweptMax));
      const keyed = spendings.map(spending => ({ ...spending, hash: hashedKey(secret, spending.key) }));
      try {
        return this.#inTransaction(() => take(keyed, now));
      } catch (error) {
        if (!isFull(error)) throw error;
        this.#inTransaction(() => evict(evictedMax));
        return this.#inTransaction(() => take(keyed, now));
      }
    } catch (error) {
      if (isDamage(error)) makeAgain(this.#options.path, this.#pagesMax, this.#open?.inode);
      throw error;
    }
  }

  close(): void {
    const open = this.#open;
    this.#open = undefined;
    open?.database.close();
  }

  /** The file under that name may have been replaced since. */
  #current(): ReturnType<typeof prepare> {
    const { path } = this.#options;
    if (this.#open !== undefined && this.#open.inode !== inodeOf(path)) this.close();
    this.#open ??= prepare(openLimitFile(path, this.#pagesMax), inodeOf(path));
    return this.#open;
  }

  #inTransaction<Result>(work: () => Result): Result {
    const { database } = this.#open!;
    withBusyRetry(() => database.run('BEGIN IMMEDIATE'), this.#options.busyMaxMs);
    try {
      const result = work();
      database.run('COMMIT');
      return result;
    } catch (error) {
      if (database.inTransaction) database.run('ROLLBACK');
      throw error;
    }
  }
}

type KeyedSpending = Spending & { readonly hash: Uint8Array };

function prepare(database: Database, inode: number | undefined) {
  const read = database.query<BucketLevel, [Uint8Array]>(
    'SELECT spent_grains AS spentGrains, at FROM buckets WHERE key = ?',
  );
  const write = database.query(`
    INSERT INTO buckets (key, spent_grains, at, full_at) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (key) DO UPDATE SET spent_grains = ?2, at = ?3, full_at = ?4`);
  const sweep = database.query(`
    DELETE FROM buckets
    WHERE key IN (SELECT key FROM buckets WHERE full_at <= ?1 ORDER BY full_at LIMIT ?2)`);
  return {
    database,
    inode,
    take(spendings: readonly KeyedSpending[], now: number): LimitDecision {
      const kept = spendings.map(({ hash }) => read.get(hash) ?? undefined);
      const { decision, after } = takeFromAll(spendings, kept, now);
      after?.forEach((level, index) => {
        const { hash, rate } = spendings[index]!;
        write.run(hash, level.spentGrains, level.at, fullAt(level, rate));
      });
      return decision;
    },
    sweep: (now: number, count: number) => sweep.run(now, count),
    evict: (count: number) => sweep.run(Number.MAX_SAFE_INTEGER, count),
  };
}

function isFull(error: unknown): boolean {
  return error instanceof Error && (error as { code?: string }).code === 'SQLITE_FULL';
}

/**
 * The file in which the processes of one machine keep their buckets. Its contents are worth little and not for long, so
 * nothing waits for the disk, and a damaged file is deleted: all buckets are full again. Processes that still use the
 * old file notice that it was replaced. Only one process at a time replaces it, because SQLite finds its side files by
 * name alone and would use those of the old file for the new one.
 */
const limitMigrations: MigrationSet = {
  component: 'limits',
  steps: [
    `CREATE TABLE buckets (
       key BLOB PRIMARY KEY,
       spent_grains INTEGER NOT NULL,
       at INTEGER NOT NULL,
       full_at INTEGER NOT NULL
     ) STRICT, WITHOUT ROWID;
     CREATE INDEX buckets_by_full_at ON buckets (full_at)`,
  ],
};

const guardMaxMs = 1_000;
const sideFiles = ['-wal', '-shm'];
const cacheKibibytes = 4_096;
const checkpointPages = 1_000;

/** Identifies the file while any process has it open; undefined when there is none. */
function inodeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino;
}

/** True when a file is permanently unusable, as opposed to temporarily. */
function isDamage(error: unknown): boolean {
  return error instanceof Error && /^SQLITE_(NOTADB|CORRUPT)/.test((error as { code?: string }).code ?? '');
}

/** Opens the file, after recreating it if it is missing or damaged. */
function openLimitFile(path: string, pagesMax: number): Database {
  const inode = inodeOf(path);
  if (inode === undefined) makeAgain(path, pagesMax, undefined);
  try {
    return open(path, pagesMax);
  } catch (error) {
    if (!isDamage(error)) throw error;
    makeAgain(path, pagesMax, inode);
    return open(path, pagesMax);
  }
}

/** Replaces the damaged file by a new one, unless another process has done so. */
function makeAgain(path: string, pagesMax: number, damagedInode: number | undefined): void {
  const guard = new Database(`${path}.guard`, { create: true, readwrite: true });
  try {
    withBusyRetry(() => guard.run('BEGIN EXCLUSIVE'), guardMaxMs);
    const inode = inodeOf(path);
    if (inode !== undefined && inode !== damagedInode) return;
    for (const suffix of ['', ...sideFiles]) rmSync(path + suffix, { force: true });
    open(path, pagesMax).close();
  } finally {
    guard.close();
  }
}

function open(path: string, pagesMax: number): Database {
  const database = openForWriting(path);
  try {
    // A power cut may cost the last seconds, or the file; a process that is killed costs nothing.
    database.run('PRAGMA synchronous = OFF');
    database.run(`PRAGMA cache_size = -${cacheKibibytes}`);
    database.run(`PRAGMA wal_autocheckpoint = ${checkpointPages}`);
    database.run(`PRAGMA max_page_count = ${pagesMax}`);
    migrate(database, limitMigrations);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}
