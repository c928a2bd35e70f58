/**
 * What a failure of Postgres means to a caller. A server that is away, overloaded, shutting down or no longer the
 * primary is a 503 that passes by itself. An error in what was asked (a constraint, a type) is passed on as it is: the
 * caller expects it, or has a fault.
 */
import { DatabaseError } from 'pg';
import { Problem } from '../../base/errors.ts';

/** Class codes (the first two characters) of states that have to do with the server and not with the statement. */
const serverClasses: ReadonlySet<string> = new Set([
  '08', // the connection
  '28', // refused at the door
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
const uniqueViolation = '23505';
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
  throw isFatal(error) ? unavailable(new BrokenBefore('the connection was broken', { cause: error })) : error;
}

/** Somebody else has, or at the same time took, what may be there once only; `constraint` names the index. */
export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  if (!(error instanceof DatabaseError) || error.code !== uniqueViolation) return false;
  return constraint === undefined || error.constraint === constraint;
}

/** Whether the connection that said this is of no more use. */
export function isFatal(error: unknown): boolean {
  if (error instanceof Problem) return error.code === 'store_unavailable';
  const state = stateOf(error) ?? '';
  return serverClasses.has(state.slice(0, 2)) || state === readOnly || state === idleInTransaction;
}

/** What the caller hears. */
export function failureOf(error: unknown): unknown {
  if (error instanceof Problem) return error;
  if (isFatal(error) || isRetryable(error)) return unavailable(error);
  if (charactersRefused.has(stateOf(error) ?? '')) {
    const detail = 'Text cannot contain NUL or broken characters.';
    return new Problem('invalid_request', { detail, cause: error });
  }
  return error;
}

export const unavailable = (cause: unknown): Problem => new Problem('store_unavailable', { cause });
