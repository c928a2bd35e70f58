/**
 * An edge cache that can be purged. It keeps a redirect under the code of its link, whatever query a visitor adds, so a
 * purge names only codes.
 *
 * Invariants every driver keeps:
 * - A purge that resolves was accepted by the edge; it is idempotent.
 * - Every call ends within a bounded time. Failures are a `PurgeFailed`, whose message holds no secret.
 */
import type { Clock } from '../base/clock.ts';
import { withSignal } from '../base/deadline.ts';

export const answerMaxMs = 3_000;
const textBytesMax = 4_096;

export interface Purger {
  /** Its name in logs and metrics. */
  readonly name: string;
  /** The maximum number of codes in one call. */
  readonly codesMax: number;
  purge(codes: readonly string[]): Promise<void>;
  /** Absent where the edge cannot purge everything at once. */
  readonly purgeAll?: () => Promise<void>;
}

/** The edge was not reached, or rejected the purge. Either may be transient: a token is renewed, a limit ends. */
export class PurgeFailed extends Error {
  override readonly name = 'PurgeFailed';
}

export interface EdgeRequest {
  readonly method: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface EdgeAnswer {
  readonly status: number;
  /** The start of the body, where an edge explains an error. */
  readonly text: string;
}

export type Exchange = (request: EdgeRequest) => Promise<EdgeAnswer>;

/**
 * Exchanges with an edge, bounded in time and in how much of the response is read. Redirects are not followed, so a token
 * goes only to the address that the operator configured.
 */
export function createExchange(clock: Clock, maxMs = answerMaxMs): Exchange {
  const exchange = async ({ method, url, headers = {}, body }: EdgeRequest, signal: AbortSignal) => {
    try {
      const answer = await fetch(url, {
        method,
        headers: { ...headers, 'User-Agent': 'terse' },
        ...(body !== undefined && { body }),
        redirect: 'manual',
        signal,
      });
      return { status: answer.status, text: await beginningOf(answer) };
    } catch (error) {
      if (signal.aborted) throw new PurgeFailed(`the edge did not answer within ${maxMs} ms`);
      const { code } = error as { code?: unknown };
      throw new PurgeFailed(`the edge cannot be reached: ${typeof code === 'string' ? code : 'unknown'}`);
    }
  };
  return request => withSignal(clock, maxMs, signal => exchange(request, signal));
}

async function beginningOf(answer: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of answer.body ?? []) {
    parts.push(part);
    bytes += part.length;
    if (bytes >= textBytesMax) break;
  }
  return Buffer.concat(parts).toString('utf8', 0, textBytesMax);
}

export const isTaken = ({ status }: EdgeAnswer): boolean => status >= 200 && status < 300;
