/**
 * Buckets that several processes share, each reading and writing them in one immediate transaction, so that two
 * of them never spend the same token. Runs on a thread of its own, because it waits for the others.
 * Invariant: the file names nobody. Keys are addresses and accounts, and only their keyed hashes are written.
 */
import type { Database } from 'bun:sqlite';
import { withBusyRetry } from '../../../engines/sqlite/database.ts';
import { type BucketLevel, fullAt, takeFromAll } from '../../bucket.ts';
import type { LimitDecision, Spending } from '../../rate-limit.ts';
import { hashedKey } from '../hashed-key.ts';
import { inodeOf, isDamage, makeAnew, openLimitFile } from './file.ts';

export interface SqliteBucketsOptions {
  readonly path: string;
  readonly secret: Uint8Array;
  /** How long to wait for other processes; past it the caller is told. */
  readonly busyMaxMs: number;
  /** How large the file may grow. */
  readonly pagesMax?: number;
}

/** Some six hundred thousand buckets in 64 MiB. */
const defaultPagesMax = 16_384;

/** So often are full buckets forgotten, and so many at most: more than can have been added since. */
const takesPerSweep = 64;
const sweptMax = 256;
/** Of the buckets that are full soonest, when the file has no room for another. */
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
      if (isDamage(error)) makeAnew(this.#options.path, this.#pagesMax, this.#open?.inode);
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
