/**
 * Reads from a replica that is known to be fresh. Once a second the primary is asked how far its log goes, and the
 * replica how much of the log it has replayed: a replica that has replayed what the primary had written at a moment is
 * at least as fresh as that moment. Only this process' own clock is used, an idle primary does not look late, and a
 * replica that lost its primary without noticing does.
 *
 * Whenever freshness cannot be shown, or the replica fails, the answer is "undefined" and the primary has to be asked.
 */
import type { Clock } from '../../base/clock.ts';
import { describeFailure, type Log } from '../../ops/log.ts';
import type { Connections } from './connections.ts';
import { ask, type Postgres, type QueryOptions } from './postgres.ts';

export interface NearReads {
  /** Rows as they are or were a few seconds ago; undefined when the replica has nothing trustworthy to say. */
  read<Row>(text: string, values?: readonly unknown[], options?: QueryOptions): Promise<Row[] | undefined>;
}

export interface ReplicaReadsOptions {
  readonly primary: Pick<Postgres, 'read'>;
  readonly replica: Connections;
  readonly clock: Clock;
  readonly log?: Log | undefined;
}

/** How far the primary's log went at a moment. */
interface Mark {
  readonly atMs: number;
  readonly position: number;
}

const stalenessMaxMs = 5_000;
const measureEveryMs = 1_000;
/** Marks older than what may be read have nothing to say any more. */
const marksMax = stalenessMaxMs / measureEveryMs + 1;
/** The primary is asked after this, so it is a part of what a reader waits for. */
const readMaxMs = 250;
const never = Number.NEGATIVE_INFINITY;

export class ReplicaReads implements NearReads {
  readonly #options: ReplicaReadsOptions;
  readonly #cancel: () => void;
  #marks: Mark[] = [];
  #freshAtMs = never;
  #isMeasuring = false;
  #isTrusted = false;

  constructor(options: ReplicaReadsOptions) {
    this.#options = options;
    this.#cancel = options.clock.every(measureEveryMs, () => void this.#measure());
    void this.#measure();
  }

  async read<Row>(
    text: string,
    values?: readonly unknown[],
    options: QueryOptions = {},
  ): Promise<Row[] | undefined> {
    const { replica, clock } = this.#options;
    if (clock.monotonicMs() - this.#freshAtMs >= stalenessMaxMs) return undefined;
    try {
      return await replica.run(readMaxMs, client => ask<Row>(client, text, values, options.name));
    } catch {
      // The next good measurement brings it back; until then nobody else waits for it in vain.
      this.#freshAtMs = never;
      return undefined;
    }
  }

  stop(): void {
    this.#cancel();
  }

  async #measure(): Promise<void> {
    if (this.#isMeasuring) return;
    this.#isMeasuring = true;
    try {
      await this.#markPrimary();
      const replayed = await this.#replayed();
      const reached = this.#marks.findLast(({ position }) => replayed !== null && position <= replayed);
      if (reached !== undefined) this.#freshAtMs = reached.atMs;
      this.#tell(reached !== undefined);
    } catch (error) {
      this.#tell(false, error);
    } finally {
      this.#isMeasuring = false;
    }
  }

  async #markPrimary(): Promise<void> {
    const { primary, clock } = this.#options;
    const atMs = clock.monotonicMs();
    const [row] = await primary.read<{ position: number }>(
      `SELECT (pg_current_wal_lsn() - '0/0'::pg_lsn)::int8 AS position`,
    );
    this.#marks = [...this.#marks, { atMs, position: row!.position }].slice(-marksMax);
  }

  /** Null where the server is no replica at all. */
  async #replayed(): Promise<number | null> {
    const [row] = await this.#options.replica.run(measureEveryMs, client =>
      ask<{ position: number | null }>(
        client,
        `SELECT (pg_last_wal_replay_lsn() - '0/0'::pg_lsn)::int8 AS position WHERE pg_is_in_recovery()`,
      ),
    );
    return row?.position ?? null;
  }

  /** One line when it begins to be used and one when it ends. */
  #tell(isTrusted: boolean, error?: unknown): void {
    if (isTrusted === this.#isTrusted) return;
    this.#isTrusted = isTrusted;
    if (isTrusted) this.#options.log?.info('postgres_replica_used');
    else
      this.#options.log?.warn('postgres_replica_not_used', error === undefined ? {} : describeFailure(error));
  }
}
