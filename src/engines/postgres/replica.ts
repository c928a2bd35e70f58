/**
 * Reads from a replica that is known to be fresh. Once a second the primary is asked how far its log goes, and the
 * replica how much of the log it has replayed: a replica that has replayed what the primary had written at a moment is
 * at least as fresh as that moment. Only this process' own clock is used, an idle primary does not look late, and a
 * replica that lost its primary without noticing does.
 *
 * Whenever freshness cannot be shown, or the replica fails, the answer is "undefined" and the primary has to be asked.
 * One exception: a primary that has not answered for a while may be lost, with its whole region. Then a replica that
 * was fresh at its last measurement is read from for some minutes more. Its data may be as old as that; failing would
 * be worse.
 */
import type { Clock } from '../../base/clock.ts';
import { describeFailure, type Log } from '../../telemetry/log.ts';
import type { Connections } from './connections.ts';
import { ask, type Postgres, type QueryOptions } from './postgres.ts';

export interface NearReads {
  /** Whether the replica would be asked now. */
  isUsable(): boolean;
  /** Rows as they are or were a few seconds ago; undefined when the replica's data cannot be trusted. */
  read<Row>(text: string, values?: readonly unknown[], options?: QueryOptions): Promise<Row[] | undefined>;
}

export interface ReplicaReadsOptions {
  readonly primary: Pick<Postgres, 'read'>;
  readonly replica: Connections;
  /** How long it is read from while the primary does not answer; 0 for not at all. */
  readonly aloneMaxMs: number;
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
/** A primary that did not answer for less than this may only have been slow once. */
const silenceMinMs = 3_000;
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
  /** When the primary last answered, and since when it has not. */
  #receivedAtMs = never;
  #silentSinceMs: number | undefined;
  #isReplicaWell = true;
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
    const { replica } = this.#options;
    if (!this.isUsable()) return undefined;
    try {
      return await replica.run(readMaxMs, client => ask<Row>(client, text, values, options.name));
    } catch {
      // The next good measurement puts it back in use; until then no other read waits for it.
      this.#isReplicaWell = false;
      return undefined;
    }
  }

  /** Whether it would be read from now. */
  isUsable(): boolean {
    const nowMs = this.#options.clock.monotonicMs();
    return this.#isReplicaWell && (nowMs - this.#freshAtMs < stalenessMaxMs || this.#isAlone(nowMs));
  }

  stop(): void {
    this.#cancel();
  }

  async #measure(): Promise<void> {
    if (this.#isMeasuring) return;
    this.#isMeasuring = true;
    try {
      const askedMs = this.#options.clock.monotonicMs();
      const silence = await this.#markPrimary().then(
        () => undefined,
        (error: unknown) => error,
      );
      this.#silentSinceMs = silence === undefined ? undefined : (this.#silentSinceMs ?? askedMs);
      const replayed = await this.#replayed();
      this.#isReplicaWell = true;
      const reached = this.#marks.findLast(({ position }) => replayed !== null && position <= replayed);
      if (reached !== undefined) this.#freshAtMs = Math.max(this.#freshAtMs, reached.atMs);
      this.#tell(reached !== undefined && silence === undefined, silence);
    } catch (error) {
      this.#isReplicaWell = false;
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
    this.#receivedAtMs = atMs;
  }

  /** Whether the primary does not answer, and the replica was fresh when it last did. */
  #isAlone(nowMs: number): boolean {
    if (this.#silentSinceMs === undefined || nowMs - this.#silentSinceMs < silenceMinMs) return false;
    const wasFresh = this.#freshAtMs > this.#receivedAtMs - stalenessMaxMs;
    return wasFresh && nowMs - this.#receivedAtMs < this.#options.aloneMaxMs;
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
      this.#options.log?.warn(
        'postgres_replica_not_used',
        error === undefined ? {} : { failure: describeFailure(error) },
      );
  }
}
