/**
 * Postgres as the stores see it: statements and transactions with a deadline, on a bounded pool. When the server is
 * down every call fails within its deadline as `store_unavailable`; when it is up again the next call uses it.
 *
 * A promise of a write resolves after COMMIT with `synchronous_commit` on. One that rejects as unavailable says whether
 * it may have been committed all the same (`outcome`): it may when the answer to what commits was lost.
 */
import type { PoolClient } from 'pg';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import { parseAddress } from './address.ts';
import { Connections, type PoolUsage, type Progress } from './connections.ts';
import { BrokenBefore, brokenBefore, isRetryable, isUnsent, stateOf, unavailable } from './failures.ts';
import { type NearReads, ReplicaReads } from './replica.ts';

export interface PostgresTransaction {
  query<Row>(text: string, values?: readonly unknown[], options?: QueryOptions): Promise<Row[]>;
}

export interface QueryOptions {
  /** Prepares the statement under this name, once per connection. One name, one text. */
  readonly name?: string;
  /** Outside of a transaction only, which has its own. */
  readonly deadlineMs?: number;
}

export interface Postgres extends PostgresTransaction {
  /** One statement that commits by itself; with the deadline of a write. */
  query<Row>(text: string, values?: readonly unknown[], options?: QueryOptions): Promise<Row[]>;
  /** The same for what only reads, with a shorter deadline. */
  read<Row>(text: string, values?: readonly unknown[], options?: QueryOptions): Promise<Row[]>;
  /**
   * BEGIN, the work, COMMIT, in READ COMMITTED: each statement sees what was committed before it. When the transaction
   * collides with another one it is rolled back and the work runs again, so the work keeps nothing outside of it.
   */
  transaction<Result>(
    work: (tx: PostgresTransaction) => Promise<Result>,
    options?: { readonly deadlineMs?: number },
  ): Promise<Result>;
  /** A read replica, where the address names one. */
  readonly near?: NearReads;
  readonly usage: PoolUsage;
  /** Where it is, without secrets. */
  readonly place: string;
  close(): Promise<void>;
}

export interface PostgresOptions {
  readonly clock: Clock;
  readonly log?: Log;
}

export const readDeadlineMs = 1_000;
export const writeDeadlineMs = 5_000;
/** Of reads by key that share a statement. */
export const keysPerStatement = 250;
/** Collisions are rare because locks are taken in one order, and so are broken connections: more are no coincidence. */
const attemptsMax = 5;

export function openPostgres(url: string, { clock, log }: PostgresOptions): Postgres {
  const { connectionString, replicaConnectionString, connectionsMax, aloneMaxMs, place } = parseAddress(url);
  const primary = new Connections({ connectionString, connectionsMax, clock, log });

  const postgres: Postgres = {
    query: (text, values, { name, deadlineMs = writeDeadlineMs } = {}) =>
      withRetries(clock, deadlineMs, leftMs =>
        primary.run(leftMs, (client, progress) => {
          progress.isCommitSent = true;
          return ask(client, text, values, name);
        }),
      ),
    read: (text, values, { name, deadlineMs = readDeadlineMs } = {}) =>
      withRetries(clock, deadlineMs, leftMs =>
        primary.run(leftMs, client => ask<never>(client, text, values, name).catch(brokenBefore)),
      ),
    transaction: (work, { deadlineMs = writeDeadlineMs } = {}) =>
      withRetries(clock, deadlineMs, leftMs =>
        primary.run(leftMs, (client, progress) => inTransaction(client, progress, work)),
      ),
    get usage() {
      return primary.usage;
    },
    place,
    close: () => primary.close(),
  };
  if (replicaConnectionString === undefined) return postgres;

  const replica = new Connections({ connectionString: replicaConnectionString, connectionsMax, clock, log });
  const near = new ReplicaReads({ primary: postgres, replica, aloneMaxMs, clock, log });
  return {
    ...postgres,
    near,
    get usage() {
      return primary.usage;
    },
    async close() {
      near.stop();
      await Promise.all([primary.close(), replica.close()]);
    },
  };
}

/** One statement on a connection. Any error that is not the server's answer is a failed connection. */
export async function ask<Row>(
  client: PoolClient,
  text: string,
  values: readonly unknown[] = [],
  name?: string,
): Promise<Row[]> {
  return (await answerOf(client, text, values, name)).rows as Row[];
}

async function answerOf(client: PoolClient, text: string, values: readonly unknown[], name?: string) {
  try {
    return await client.query({ text, values: values as unknown[], ...(name !== undefined && { name }) });
  } catch (error) {
    if (isUnsent(error))
      throw unavailable(new BrokenBefore('the connection was broken', { cause: error }), 'none');
    throw stateOf(error) === undefined ? unavailable(error, 'unknown') : error;
  }
}

async function inTransaction<Result>(
  client: PoolClient,
  progress: Progress,
  work: (tx: PostgresTransaction) => Promise<Result>,
): Promise<Result> {
  await ask(client, 'BEGIN ISOLATION LEVEL READ COMMITTED').catch(brokenBefore);
  let result: Result;
  try {
    result = await work({ query: (text, values, options) => ask(client, text, values, options?.name) });
  } catch (error) {
    await ask(client, 'ROLLBACK');
    throw error;
  }
  progress.isCommitSent = true;
  const { command } = await answerOf(client, 'COMMIT', []);
  // A transaction in which a statement has failed is not committed, and Postgres does not call that an error.
  if (command !== 'COMMIT')
    throw new Error('a statement failed and the transaction went on as if it had not');
  return result;
}

async function withRetries<Result>(
  clock: Clock,
  deadlineMs: number,
  attempt: (leftMs: number) => Promise<Result>,
): Promise<Result> {
  const endMs = clock.monotonicMs() + deadlineMs;
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await attempt(Math.max(0, endMs - clock.monotonicMs()));
    } catch (error) {
      const mayTryAgain = attempts < attemptsMax && clock.monotonicMs() < endMs;
      if (!mayTryAgain || !isRetryable((error as Error | undefined)?.cause)) throw error;
    }
  }
}
