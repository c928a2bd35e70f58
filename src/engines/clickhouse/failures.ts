/**
 * What a failure of ClickHouse means to a caller. A server that is away, overloaded, full or not letting us in is the
 * one problem that the rest of Terse knows, and passes by itself. Anything else it says is an answer to what was asked,
 * with a number of its own: the caller expects it, or has a fault.
 */
import { Problem } from '../../base/errors.ts';

/** Numbers of what has to do with the server and not with the statement. */
const serverTroubles: ReadonlySet<number> = new Set([
  81, // no such database
  159, // it took too long
  202, // too many queries at once
  209, // its network
  210,
  236, // shutting down
  241, // out of memory
  242, // read only for now
  243, // out of disk
  252, // merging cannot keep up with inserting
  319, // whether it was inserted is not known
  394, // cancelled
  516, // refused at the door
  999, // its coordination
]);
const unknownTable = 60;

export class ClickHouseError extends Error {
  override readonly name = 'ClickHouseError';
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** The table was dropped, or never made. */
export const isUnknownTable = (error: unknown): boolean =>
  error instanceof ClickHouseError && error.code === unknownTable;

/** What a server's refusal is to the caller. */
export function refusalOf(code: number, message: string): Error {
  const error = new ClickHouseError(code, message);
  return serverTroubles.has(code) || !Number.isInteger(code) ? unavailable(error) : error;
}

export function unavailable(cause: unknown, detail?: string): Problem {
  return new Problem('stats_unavailable', { ...(detail === undefined ? {} : { detail }), cause });
}
