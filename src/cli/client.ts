/**
 * Calls the public HTTP API for the commands. Every failure becomes a `RequestError` that says what to
 * do next. Invariant: the key goes to the configured server only, never along a redirect.
 */
import type { ApiProblem } from './api-types.ts';
import { type CommandContext, RequestError } from './command.ts';
import { harmless } from './output.ts';

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/** Long enough for a full bulk call, short enough that a script does not hang forever. */
const requestTimeoutMs = 120_000;

export interface ApiCall {
  readonly method: Method;
  readonly path: string;
  readonly body?: unknown;
  /** The timeout of calls that may take longer than most. */
  readonly timeoutMs?: number;
}

/** Calls the API and returns its JSON, which has `member` when the server is Terse. */
export async function callApi<Answer>(
  context: CommandContext,
  call: ApiCall,
  member: keyof Answer & string,
): Promise<Answer> {
  const parsed = parsedJson(await exchange(context, call, response => response.text()));
  if (typeof parsed === 'object' && parsed !== null && member in parsed) return parsed as Answer;
  throw notTerse(context, 'with something else than expected');
}

/** Calls the API where the answer has no content. */
export async function callApiWithoutAnswer(context: CommandContext, call: ApiCall): Promise<void> {
  await exchange(context, call, response => response.text());
}

export function fetchBytes(context: CommandContext, path: string): Promise<Uint8Array> {
  return exchange(context, { method: 'GET', path }, response => response.bytes());
}

export function pathWith(path: string, query: Readonly<Record<string, string>>): string {
  const text = new URLSearchParams(query).toString();
  return text === '' ? path : `${path}?${text}`;
}

/** A problem in words, the detail only where it adds something. */
export function problemInWords(problem: ApiProblem): string {
  const { title = 'The server refused', detail, outcome } = problem;
  const words = harmless(detail === undefined || detail === title ? title : `${title}: ${detail}`);
  return outcome === undefined
    ? words
    : `${words} (${outcomeWords[outcome] ?? harmless(`outcome ${outcome}`)})`;
}

/** The `outcome` of a 503, in words. */
const outcomeWords: Readonly<Record<string, string>> = {
  none: 'nothing was done',
  unknown: 'outcome unknown: it may have been done',
};

async function exchange<Content>(
  context: CommandContext,
  { method, path, body, timeoutMs = requestTimeoutMs }: ApiCall,
  read: (response: Response) => Promise<Content>,
): Promise<Content> {
  const controller = new AbortController();
  const stopTimer = context.clock.after(timeoutMs, () => controller.abort());
  try {
    const response = await context.fetch(`${context.config.server}${path}`, {
      method,
      headers: headersFor(context, body),
      redirect: 'manual',
      signal: controller.signal,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (response.status < 200 || response.status > 299) throw await refusal(context, response);
    return await read(response);
  } catch (error) {
    if (error instanceof RequestError) throw error;
    throw unreachable(context, controller.signal.aborted ? 'no answer in time' : reasonOf(error));
  } finally {
    stopTimer();
  }
}

function headersFor({ config, version }: CommandContext, body: unknown): Record<string, string> {
  const key = config.key ?? config.adminKey;
  return {
    accept: 'application/json',
    'user-agent': `terse/${version}`,
    ...(key !== undefined && { authorization: `Bearer ${key}` }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
  };
}

async function refusal(context: CommandContext, response: Response): Promise<RequestError> {
  const problem = parsedJson(await response.text());
  if (typeof problem !== 'object' || problem === null || !('title' in problem)) {
    return notTerse(context, `${response.status}, not the way Terse does`);
  }
  const words = problemInWords(problem as ApiProblem);
  if (response.status !== 401) return new RequestError(words);
  return new RequestError(
    `${words}\nGive a key with --key or TERSE_KEY. The server prints the administrator's key at its first start.`,
  );
}

function unreachable({ config }: CommandContext, reason: string): RequestError {
  return new RequestError(
    `cannot reach ${config.server} (${reason})\nStart a server with \`terse serve\`, or name another with --server or TERSE_SERVER.`,
  );
}

function notTerse({ config }: CommandContext, how: string): RequestError {
  return new RequestError(
    `${config.server} answered ${how}: is it a Terse server? Check --server or TERSE_SERVER.`,
  );
}

function reasonOf(error: unknown): string {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code;
  return error instanceof Error ? harmless(error.message) : 'unknown reason';
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
