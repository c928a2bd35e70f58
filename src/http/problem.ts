/** Refusals as application/problem+json, and the page a browser gets instead. */
import { Problem, problemTable } from '../base/errors.ts';
import { statusPageHeaders } from '../web/security-headers.ts';
import { errorPage } from '../web/status-pages.ts';

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
  return new Response(JSON.stringify(problemDocument(problem)), {
    status: problem.status,
    headers: {
      'Content-Type': 'application/problem+json',
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      // Every 401 has to say how to do better, whoever gives it.
      ...(problem.status === 401 && { 'WWW-Authenticate': 'Bearer realm="terse"' }),
      ...problem.headers,
    },
  });
}

/** A browser asks for HTML by name; API clients and curl do not. */
export function wantsHtml(request: Request): boolean {
  return request.headers.get('accept')?.includes('text/html') ?? false;
}

export function refusal(request: Request, problem: Problem): Response {
  if (!wantsHtml(request)) return problemResponse(problem);
  const { status, title, detail, headers } = problem;
  return new Response(errorPage({ status, title, detail }), {
    status,
    headers: { ...statusPageHeaders, ...headers },
  });
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
