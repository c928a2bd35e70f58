/**
 * One HTTP exchange with an edge, bounded in time and in what is read of the answer. Redirects are not followed, so a
 * token goes nowhere but where the operator sent it.
 */
import type { Clock } from '../../base/clock.ts';
import { PurgeFailed } from '../purger.ts';

export interface EdgeRequest {
  readonly method: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface EdgeAnswer {
  readonly status: number;
  /** The beginning of it, in which an edge says what it did not like. */
  readonly text: string;
}

export type Exchange = (request: EdgeRequest) => Promise<EdgeAnswer>;

export const answerMaxMs = 3_000;
const textBytesMax = 4_096;

export function createExchange(clock: Clock, maxMs = answerMaxMs): Exchange {
  return async ({ method, url, headers = {}, body }) => {
    const abort = new AbortController();
    const cancel = clock.after(maxMs, () => abort.abort());
    try {
      const answer = await fetch(url, {
        method,
        headers: { ...headers, 'User-Agent': 'terse' },
        ...(body !== undefined && { body }),
        redirect: 'manual',
        signal: abort.signal,
      });
      return { status: answer.status, text: await beginningOf(answer) };
    } catch (error) {
      if (abort.signal.aborted) throw new PurgeFailed(`the edge did not answer within ${maxMs} ms`);
      const { code } = error as { code?: unknown };
      throw new PurgeFailed(`the edge cannot be reached: ${typeof code === 'string' ? code : 'unknown'}`);
    } finally {
      cancel();
    }
  };
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
