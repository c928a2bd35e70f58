/**
 * Every request of the dashboard. A read waits until the server can be reached again, the user is signed in, and a
 * short rate limit is over; a write that did not get through fails, because users do not expect it to happen minutes
 * later.
 */
import { browserClock } from '../../../../base/clock.ts';
import { texts } from '../../texts.ts';
import { noteDown, serverBack } from '../state/connection.ts';
import { noteUnauthorized, signedInAgain } from '../state/session.ts';

type Query = Readonly<Record<string, string | number | undefined>>;

interface RequestOptions {
  readonly query?: Query;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
  /** Makes it safe to repeat a request that creates something and whose outcome is unknown. */
  readonly idempotencyKey?: string;
  /** Lets a write wait for a short rate limit, too; aborting this ends the wait, but no request. */
  readonly limitSignal?: AbortSignal;
  /** For the sign-in request, which must not wait for a sign-in. */
  readonly waitsForSession?: boolean;
  /** For requests other than GET that are safe to repeat. */
  readonly isHarmless?: boolean;
  /** Lets the request outlive the page. */
  readonly keepalive?: boolean;
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** A public page shows everyone the same: its requests carry at most a token, never the session. */
let strangersQuery: Query | undefined;
export const askAsStranger = (query: Query): void => {
  strangersQuery = query;
};
/** Whether the viewer may see the numbers, but not filter them. */
export const isStranger = (): boolean => strangersQuery !== undefined;

/** Each attempt waits for a person or the network, so only a server that keeps rejecting reaches this. */
const attemptsMax = 50;

export async function request<Answer>(
  method: Method,
  path: string,
  options: RequestOptions = {},
): Promise<Answer> {
  const response = await send(method, path, options);
  if (!response.ok) throw await problemOf(response);
  if (response.status === 204) return undefined as Answer;
  return response.json().catch(error => {
    if (isAbort(error)) throw error;
    // The answer was cut off, or it came from something between us and the server.
    throw method === 'GET'
      ? new ApiProblem(response.status, 'unknown', texts.errors.unknown)
      : unanswered(options);
  });
}

async function send(method: Method, path: string, options: RequestOptions): Promise<Response> {
  const { signal, limitSignal, waitsForSession = true } = options;
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const response = await attemptOnce(method, path, options);
    if (response === undefined) {
      noteDown();
      if (method !== 'GET') throw unanswered(options);
      await serverBack(signal);
    } else if (response.status === 401 && waitsForSession) {
      noteUnauthorized();
      await signedInAgain(limitSignal ?? signal);
    } else if ((method === 'GET' || limitSignal !== undefined) && isShortlyLimited(response)) {
      await pause(retryAfterMs(response), limitSignal ?? signal);
    } else return response;
  }
  throw unanswered(options);
}

/** No user wants to watch a page load for longer than this. */
const limitedWaitMaxMs = 30_000;

/** The header is in seconds. */
const retryAfterMs = (response: Response): number => Number(response.headers.get('Retry-After')) * 1_000;

const isShortlyLimited = (response: Response): boolean =>
  response.status === 429 && retryAfterMs(response) > 0 && retryAfterMs(response) <= limitedWaitMaxMs;

function pause(durationMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const cancel = browserClock.after(durationMs, resolve);
    signal?.addEventListener('abort', () => {
      cancel();
      reject(signal.reason);
    });
  });
}

/** Undefined without an answer, or when a proxy reports that the server does not answer. */
async function attemptOnce(
  method: Method,
  path: string,
  { query = {}, body, signal, idempotencyKey, keepalive = false }: RequestOptions,
): Promise<Response | undefined> {
  try {
    const response = await fetch(addressOf(path, query), {
      method,
      credentials: strangersQuery === undefined ? 'same-origin' : 'omit',
      headers: {
        Accept: 'application/json',
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...(idempotencyKey !== undefined && { 'Idempotency-Key': idempotencyKey }),
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

function addressOf(path: string, query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...strangersQuery, ...query }))
    if (value !== undefined) parameters.set(name, String(value));
  return parameters.size === 0 ? path : `${path}?${parameters}`;
}

/** The error of a request, as the server or the network reports it. */
export class ApiProblem extends Error {
  override readonly name = 'ApiProblem';
  /** 0 when there was no answer. */
  readonly status: number;
  readonly code: string;
  readonly field: string | undefined;

  constructor(status: number, code: string, detail: string, field?: string) {
    super(detail);
    this.status = status;
    this.code = code;
    this.field = field;
  }
}

/** The error of a request that may have been carried out although no answer came. */
function unanswered({ isHarmless = false, idempotencyKey }: RequestOptions): ApiProblem {
  const { unanswered: unknown, unansweredOnce } = texts.errors;
  const text = isHarmless ? texts.connection.down : idempotencyKey === undefined ? unknown : unansweredOnce;
  return new ApiProblem(0, 'unanswered', text);
}

async function problemOf(response: Response): Promise<ApiProblem> {
  const document = (await response.json().catch(() => ({}))) as Record<string, unknown>;
  const textOf = (name: string): string | undefined =>
    typeof document[name] === 'string' ? (document[name] as string) : undefined;
  const code = textOf('code') ?? 'unknown';
  const limited =
    code === 'rate_limited'
      ? texts.errors.limited(textOf('limit') ?? '', retryAfterMs(response) / 1_000)
      : undefined;
  const title = textOf('title') ?? texts.errors.status(response.status);
  const message = limited ?? messageOfProblem({ code, detail: textOf('detail'), title });
  return new ApiProblem(response.status, code, message, textOf('field'));
}

interface ProblemTexts {
  readonly code: string | null;
  readonly detail?: string | null | undefined;
  readonly title?: string;
}

/** Only the server knows what exactly is wrong with a request of these kinds. */
const explainedCodes = new Set([
  'invalid_request',
  'invalid_url',
  'invalid_alias',
  'invalid_expiry',
  'forbidden',
  'plan_too_small',
  'keys_full',
  'appeal_refused',
]);

/** The message of a problem, in the language of the dashboard where we have a text for it. */
export function messageOfProblem({ code, detail, title }: ProblemTexts): string {
  const known = texts.errors.byCode[code ?? ''];
  if (known === undefined) return detail ?? title ?? texts.errors.unknown;
  const isExplained = detail != null && detail !== title && explainedCodes.has(code ?? '');
  return isExplained ? texts.errors.explained(known, detail) : known;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : texts.errors.unknown;
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}
