/**
 * Every request of the dashboard. A question waits until the server can be reached again, somebody is signed in and a
 * limit that is soon over is; a change that did not get through fails, because nobody wants it done minutes later.
 */
import { browserClock } from '../../../../base/browser-clock.ts';
import { noteAway, serverBack } from '../state/connection.ts';
import { noteUnauthorized, signedInAgain } from '../state/session.ts';
import { problemOf, unreachable } from './problem.ts';

export type Query = Readonly<Record<string, string | number | undefined>>;

export interface RequestOptions {
  readonly query?: Query;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
  /** For signing in itself, which must not wait for signing in. */
  readonly waitsForSession?: boolean;
  /** Lets the request outlive the page. */
  readonly keepalive?: boolean;
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Each turn waits for a person or the network, so this is only reached by a server that keeps saying no. */
const attemptsMax = 50;

export async function request<Answer>(
  method: Method,
  path: string,
  options: RequestOptions = {},
): Promise<Answer> {
  const response = await send(method, path, options);
  if (!response.ok) throw await problemOf(response);
  return (response.status === 204 ? undefined : await response.json()) as Answer;
}

async function send(method: Method, path: string, options: RequestOptions): Promise<Response> {
  const { signal, waitsForSession = true } = options;
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const response = await attemptOnce(method, path, options);
    if (response === undefined) {
      noteAway();
      if (method !== 'GET') throw unreachable();
      await serverBack(signal);
    } else if (response.status === 401 && waitsForSession) {
      noteUnauthorized();
      await signedInAgain(signal);
    } else if (method === 'GET' && isShortlyLimited(response)) {
      await pause(retryAfterMs(response), signal);
    } else return response;
  }
  throw unreachable();
}

/** Longer than this nobody wants to look at a page that is loading. */
const limitedWaitMaxMs = 30_000;

/** The header is in seconds. */
const retryAfterMs = (response: Response): number => Number(response.headers.get('Retry-After')) * 1_000;

const isShortlyLimited = (response: Response): boolean =>
  response.status === 429 && retryAfterMs(response) > 0 && retryAfterMs(response) <= limitedWaitMaxMs;

function pause(durationMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = browserClock.after(durationMs, resolve);
    signal?.addEventListener('abort', () => {
      cancel();
      reject(signal.reason);
    });
  });
}

/** Undefined when there was no answer, or only one of a proxy that has none either. */
async function attemptOnce(
  method: Method,
  path: string,
  { query = {}, body, signal, keepalive = false }: RequestOptions,
): Promise<Response | undefined> {
  try {
    const response = await fetch(addressOf(path, query), {
      method,
      credentials: 'same-origin',
      headers: {
        Accept: 'application/json',
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
      },
      body: body === undefined ? null : JSON.stringify(body),
      signal: signal ?? null,
      keepalive,
    });
    return response.status === 502 || response.status === 504 ? undefined : response;
  } catch (error) {
    if (signal?.aborted) throw error;
    return undefined;
  }
}

export function addressOf(path: string, query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) parameters.set(name, String(value));
  return parameters.size === 0 ? path : `${path}?${parameters}`;
}
