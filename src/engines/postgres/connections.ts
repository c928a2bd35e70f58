/**
 * The connections of this process to one Postgres server: a bounded number of them, a bounded number of callers that
 * wait for one, and a deadline over all that a caller does with it. A server can stop answering without closing
 * anything, so a deadline that passes ends the connection too: a later answer on it would belong to no call.
 */
import { Pool, type PoolClient, types } from 'pg';
import type { Clock } from '../../base/clock.ts';
import { Problem } from '../../base/errors.ts';
import { describeFailure, type Log } from '../../telemetry/log.ts';
import { failureOf, isFatal, unavailable } from './failures.ts';

export interface ConnectionsOptions {
  readonly connectionString: string;
  readonly connectionsMax: number;
  readonly clock: Clock;
  readonly log?: Log | undefined;
}

/** How much of the pool is in use; for metrics. */
export interface PoolUsage {
  readonly busy: number;
  readonly waiting: number;
  readonly connectionsMax: number;
}

/** How far the work on a connection has come. */
export interface Progress {
  /** Set before sending what commits: without an answer to it the outcome is unknown. */
  isCommitSent: boolean;
}

/** Callers that may wait for a connection; at some thousand reads a second that is a part of a read's deadline. */
const waitingMax = 1_000;
const connectMaxMs = 2_000;
/** Longer than the deadline of any caller, for statements whose caller has given up. */
const statementMaxMs = 6_000;
/** A process that was stopped, or cut off, inside a transaction loses it and its locks after this. */
const idleInTransactionMaxMs = 6_000;
const idleMaxMs = 60_000;
/** Connections are renewed now and then, so that they follow an address that resolves to another server by now. */
const lifeMaxSeconds = 30 * 60;
const keepAliveAfterMs = 10_000;

export class Connections {
  readonly #pool: Pool;
  readonly #clock: Clock;
  readonly #connectionsMax: number;
  #waiting = 0;
  #closing: Promise<void> | undefined;

  constructor({ connectionString, connectionsMax, clock, log }: ConnectionsOptions) {
    this.#clock = clock;
    this.#connectionsMax = connectionsMax;
    this.#pool = new Pool({
      application_name: 'terse',
      connectionString,
      max: connectionsMax,
      connectionTimeoutMillis: connectMaxMs,
      idleTimeoutMillis: idleMaxMs,
      maxLifetimeSeconds: lifeMaxSeconds,
      keepAlive: true,
      keepAliveInitialDelayMillis: keepAliveAfterMs,
      statement_timeout: statementMaxMs,
      idle_in_transaction_session_timeout: idleInTransactionMaxMs,
      types: { getTypeParser: typeParser },
      onConnect: prepareSession,
    });
    // Without a listener a connection that breaks would end the process, in use or not.
    this.#pool.on('connect', client => client.on('error', () => undefined));
    this.#pool.on('error', error =>
      log?.warn('postgres_connection_lost', { failure: describeFailure(error) }),
    );
  }

  /** Rejects with a `Problem` when no connection can be had or the deadline passes. */
  run<Result>(
    deadlineMs: number,
    work: (client: PoolClient, progress: Progress) => Promise<Result>,
  ): Promise<Result> {
    if (this.#closing !== undefined) {
      return Promise.reject(unavailable(new Error('the store is closed'), 'none'));
    }
    if (this.#waiting >= waitingMax) {
      const detail = 'Too many requests are waiting for the link store.';
      return Promise.reject(new Problem('overloaded', { detail, headers: { 'Retry-After': '1' } }));
    }
    this.#waiting += 1;
    return new Promise((resolve, reject) => {
      let client: PoolClient | undefined;
      let isLate = false;
      const progress: Progress = { isCommitSent: false };
      const giveUp = (): void => {
        isLate = true;
        if (client === undefined) this.#waiting -= 1;
        client?.release(true);
        const reason = new Error(`Postgres did not answer within ${Math.round(deadlineMs)} ms`);
        reject(unavailable(reason, progress.isCommitSent ? 'unknown' : 'none'));
      };
      const cancel = this.#clock.after(deadlineMs, giveUp);
      const attempt = async (): Promise<Result> => {
        client = await this.#connect(() => isLate);
        this.#waiting -= 1;
        try {
          const result = await work(client, progress);
          if (!isLate) client.release();
          return result;
        } catch (error) {
          if (!isLate) client.release(isFatal(error));
          throw error;
        }
      };
      attempt()
        .then(resolve, error => {
          if (client === undefined && !isLate) this.#waiting -= 1;
          reject(failureOf(error, progress.isCommitSent));
        })
        .finally(cancel);
    });
  }

  get usage(): PoolUsage {
    const { totalCount, idleCount } = this.#pool;
    return { busy: totalCount - idleCount, waiting: this.#waiting, connectionsMax: this.#connectionsMax };
  }

  /** Waits for the callers that hold a connection; their deadlines bound it. */
  close(): Promise<void> {
    this.#closing ??= this.#pool.end();
    return this.#closing;
  }

  async #connect(isLate: () => boolean): Promise<PoolClient> {
    const client = await this.#pool.connect().catch((error: unknown) => {
      throw unavailable(error, 'none');
    });
    if (!isLate()) return client;
    client.release();
    throw unavailable(new Error('no caller is waiting'), 'none');
  }
}

/**
 * What must hold on every connection, whatever the role, the database or the server is set to:
 * - A commit that was acknowledged is on the disk.
 * - Tables are read by index. Each question has its own, but on a table of middling size, or one that grew since the
 *   statistics were made, the planner would rather read it from end to end. It compiles nothing either, which for
 *   statements of a millisecond takes longer than they do.
 */
const sessionSettings = `
  SELECT set_config('enable_seqscan', 'off', false), set_config('jit', 'off', false),
    CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', false) END`;

async function prepareSession(client: { query(query: object): Promise<unknown> }): Promise<void> {
  await client.query({ text: sessionSettings, query_timeout: connectMaxMs });
}

const int8 = 20;

/** Counters, times and ids are int8 and never come near 2⁵³; what does stays text rather than becoming wrong. */
const typeParser: typeof types.getTypeParser = (oid: number, format?: 'text' | 'binary') =>
  oid === int8 && format !== 'binary' ? numberOf : types.getTypeParser(oid, format as 'text');

function numberOf(text: string): number | string {
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : text;
}
