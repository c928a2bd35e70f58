/** Rejections as application/problem+json, and the page a browser gets instead. */
import { Problem, problemTable } from '../base/errors.ts';
import { statusPageHeaders } from '../web/layout.ts';
import { errorPage } from '../web/status-pages.ts';
import { type Answer, answerOf } from './wire/answer.ts';

interface ProblemDocument {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: string;
  readonly [field: string]: unknown;
}

/** How to retry a request whose outcome is unknown. A read has no outcome. */
type Repeat = 'with-key' | 'as-is' | 'after-reading' | 'is-read';

const adviceFor = {
  'with-key':
    'Repeat it with the same Idempotency-Key or alias; without either, a repeat may make a second link.',
  'as-is': 'An edit or a deletion by code can be repeated as it is.',
  'after-reading': 'Read the current state before you repeat it.',
};

export function problemDocument(problem: Problem, repeat: Repeat = 'after-reading'): ProblemDocument {
  const { status, title } = problemTable[problem.code];
  const { outcome, ...fields } = problem.fields;
  return {
    type: `/docs#problem-${problem.code}`,
    title,
    status,
    detail:
      repeat === 'is-read' || outcome !== 'unknown'
        ? problem.detail
        : `${problem.detail.replace(/\.?$/, '.')} Whether this was carried out is unknown. ${adviceFor[repeat]}`,
    code: problem.code,
    ...(outcome !== undefined && repeat !== 'is-read' && { outcome }),
    ...fields,
  };
}

export function problemResponse(problem: Problem, repeat?: Repeat): Response {
  const { status, headers, body } = asDocument(problem, repeat);
  return new Response(body, { status, headers });
}

export function problemAnswer(problem: Problem): Answer {
  const { status, headers, body } = asDocument(problem);
  return answerOf(status, headers, body);
}

/** The client's request, as a platform request or straight off the wire. */
interface ClientRequest {
  readonly method: string;
  readonly headers: Pick<Headers, 'get'>;
}

/** A browser asks for HTML by name; API clients and curl do not. */
export function wantsHtml({ headers }: Pick<ClientRequest, 'headers'>): boolean {
  return headers.get('accept')?.includes('text/html') ?? false;
}

export function refusal(request: ClientRequest, problem: Problem): Response {
  const { status, headers, body } = rendered(request, problem);
  return new Response(body, { status, headers });
}

export function refusalAnswer(request: ClientRequest, problem: Problem): Answer {
  const { status, headers, body } = rendered(request, problem);
  return answerOf(status, headers, body);
}

function rendered(request: ClientRequest, problem: Problem): Rendered {
  if (wantsHtml(request)) return asPage(problem);
  return asDocument(problem, isRead(request) ? 'is-read' : undefined);
}

export const isRead = ({ method }: Pick<ClientRequest, 'method'>): boolean =>
  method === 'GET' || method === 'HEAD';

interface Rendered {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}

function asDocument(problem: Problem, repeat?: Repeat): Rendered {
  return {
    status: problem.status,
    headers: {
      'Content-Type': 'application/problem+json',
      'Cache-Control': 'no-store',
      // Every 401 must say how to authenticate, whichever route sends it.
      ...(problem.status === 401 && { 'WWW-Authenticate': 'Bearer realm="terse"' }),
      // Every 503 is transient.
      ...(problem.status === 503 && { 'Retry-After': '1' }),
      ...problem.headers,
    },
    body: JSON.stringify(problemDocument(problem, repeat)),
  };
}

function asPage({ status, title, detail, headers }: Problem): Rendered {
  return {
    status,
    headers: { ...statusPageHeaders, ...headers },
    body: errorPage({ status, title, detail }),
  };
}

/** Anything that is not a Problem is a fault of ours: the details go to the log and not to the caller. */
export function asProblem(error: unknown, onFault: (error: unknown) => void): Problem {
  // Overload is no fault, and a log line for each rejected request would make it worse.
  if (error instanceof Problem && (error.status < 500 || error.code === 'overloaded')) return error;
  onFault(error);
  return error instanceof Problem
    ? error
    : new Problem('internal', { detail: 'The failure was logged; try again.' });
}
