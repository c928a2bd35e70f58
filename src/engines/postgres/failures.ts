/**
 * What a failure of Postgres means to a caller. A server that is down, overloaded, shutting down or no longer the
 * primary is a transient 503. An error in the request (a constraint, a type) is passed on as it is: the caller expects
 * it, or has a bug.
 *
 * Whether something that failed may have been done: only if what commits was sent and the server did not answer that it
 * failed. An error of severity ERROR rolls back; FATAL and PANIC end the connection and may come after the commit.
 */
import { DatabaseError } from 'pg';
import { type Outcome, Problem, withOutcome } from '../../base/errors.ts';

/** Class codes (the first two characters) of states that have to do with the server and not with the statement. */
const serverClasses: ReadonlySet<string> = new Set([
  '08', // the connection
  '28', // authentication failed
  '3D', // no such database
  '53', // out of memory, disk or connections
  '55', // locked, or not in the state it should be in
  '57', // shutting down, starting up, or it cancelled the statement
  '58', // the system below it
  'XX', // broken inside
]);
/** A connection to what has become, or always was, a standby. */
const readOnly = '25006';
/** A transaction that was idle for too long: its process was stopped, or cut off. */
const idleInTransaction = '25P03';
const retryable: ReadonlySet<string> = new Set(['40001', '40P01']);
const charactersRefused: ReadonlySet<string> = new Set(['22021', '22P05']);

/** The condition that the server named, in Postgres' five characters; undefined when the server said nothing. */
export function stateOf(error: unknown): string | undefined {
  return error instanceof DatabaseError ? error.code : undefined;
}

/** A connection that turned out to be broken before anything was done on it. Another one may do. */
export class BrokenBefore extends Error {}

/** Nothing was kept, and the same again may well succeed: a collision with another transaction, a broken connection. */
export const isRetryable = (error: unknown): boolean =>
  error instanceof BrokenBefore || retryable.has(stateOf(error) ?? '');

/** For a statement that does nothing, should its connection be broken. */
export function brokenBefore(error: unknown): never {
  if (!isFatal(error)) throw error;
  throw unavailable(new BrokenBefore('the connection was broken', { cause: error }), 'none');
}

/** Whether the client found its connection broken before it sent the statement. */
export const isUnsent = (error: unknown): boolean =>
  error instanceof Error && /\bnot queryable\b/.test(error.message);

/** Whether the connection that said this is of no more use. */
export function isFatal(error: unknown): boolean {
  if (error instanceof Problem) return error.code === 'store_unavailable';
  const state = stateOf(error) ?? '';
  return serverClasses.has(state.slice(0, 2)) || state === readOnly || state === idleInTransaction;
}

/** The caller's error. `isCommitSent`: of a statement outside of a transaction, or of a COMMIT. */
export function failureOf(error: unknown, isCommitSent: boolean): unknown {
  if (error instanceof Problem) return isCommitSent ? error : withOutcome(error, 'none');
  if (isFatal(error) || isRetryable(error)) {
    const isInDoubt = isCommitSent && (error as DatabaseError).severity !== 'ERROR';
    return unavailable(error, isInDoubt ? 'unknown' : 'none');
  }
  if (charactersRefused.has(stateOf(error) ?? '')) {
    const detail = 'Text cannot contain NUL or broken characters.';
    return new Problem('invalid_request', { detail, cause: error });
  }
  return error;
}

export const unavailable = (cause: unknown, outcome: Outcome): Problem =>
  new Problem('store_unavailable', { cause, outcome });
