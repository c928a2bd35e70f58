/** Refusals as application/problem+json, and the page a browser gets instead. */
import { Problem, problemTable } from '../base/errors.ts';
import { statusPageHeaders } from '../web/security-headers.ts';
import { errorPage } from '../web/status-pages.ts';
import { type Answer, answerOf } from './wire/answer.ts';

export interface ProblemDocument {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: string;
  readonly [field: string]: unknown;
}

export function problemDocument(problem: Problem): ProblemDocument {
  const { status, title } = problemTable[problem.code];
  return {
    type: `/docs#problem-${problem.code}`,
    title,
    status,
    detail: problem.detail,
    code: problem.code,
    ...problem.fields,
  };
}

export function problemResponse(problem: Problem): Response {
  const { status, headers, body } = asDocument(problem);
  return new Response(body, { status, headers });
}

export function problemAnswer(problem: Problem): Answer {
  const { status, headers, body } = asDocument(problem);
  return answerOf(status, headers, body);
}

/** Whoever asks, as a platform request or straight off the wire. */
interface Asking {
  readonly headers: Pick<Headers, 'get'>;
}

/** A browser asks for HTML by name; API clients and curl do not. */
export function wantsHtml({ headers }: Asking): boolean {
  return headers.get('accept')?.includes('text/html') ?? false;
}

export function refusal(request: Asking, problem: Problem): Response {
  const { status, headers, body } = wantsHtml(request) ? asPage(problem) : asDocument(problem);
  return new Response(body, { status, headers });
}

export function refusalAnswer(request: Asking, problem: Problem): Answer {
  const { status, headers, body } = wantsHtml(request) ? asPage(problem) : asDocument(problem);
  return answerOf(status, headers, body);
}

interface Rendered {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}

function asDocument(problem: Problem): Rendered {
  return {
    status: problem.status,
    headers: {
      'Content-Type': 'application/problem+json',
      'Cache-Control': 'no-store',
      // Every 401 has to say how to do better, whoever gives it.
      ...(problem.status === 401 && { 'WWW-Authenticate': 'Bearer realm="terse"' }),
      // And every 503 that it passes.
      ...(problem.status === 503 && { 'Retry-After': '1' }),
      ...problem.headers,
    },
    body: JSON.stringify(problemDocument(problem)),
  };
}

function asPage({ status, title, detail, headers }: Problem): Rendered {
  return {
    status,
    headers: { ...statusPageHeaders, ...headers },
    body: errorPage({ status, title, detail }),
  };
}

/** Anything that is not a Problem is a fault of ours: the caller learns nothing of it, the log everything. */
export function asProblem(error: unknown, onFault: (error: unknown) => void): Problem {
  // Being busy is no fault, and a line in the log for each request refused would make it worse.
  if (error instanceof Problem && (error.status < 500 || error.code === 'overloaded')) return error;
  onFault(error);
  return error instanceof Problem
    ? error
    : new Problem('internal', { detail: 'The failure was logged; try again.' });
}
