/**
 * What is known of one request of the API from its beginning to its end. Its id is in its answer and in every line of
 * the log about it, so that whoever complains can name it. A caller, or a proxy before us, may send an id of its own;
 * one that is not plainly an id is replaced, because it would end up in logs and headers.
 */
import type { Random } from '../base/random.ts';
import type { Route } from './route.ts';

export interface RequestWatch {
  readonly id: string;
  /** Does the work of the request; what is done meanwhile can be told to be for it. */
  run(work: () => Promise<Response>): Promise<Response>;
  /** Something failed that is no refusal. */
  fault(error: unknown): void;
  /** The answer is ready; undefined for a method that no route has. */
  end(route: Route | undefined, status: number): void;
}

const idShape = /^[0-9A-Za-z][0-9A-Za-z._:+=-]{0,127}$/;
const ownIdBytes = 12;

export function requestIdOf(headers: Headers, random: Random): string {
  const given = headers.get('x-request-id');
  if (given !== null && idShape.test(given)) return given;
  return Buffer.from(random.bytes(ownIdBytes)).toString('hex');
}
