/**
 * The API as data. A route says what it takes, what it answers and what can go wrong; the dispatcher validates
 * by it, the OpenAPI document is printed from it, and tests walk over it. There is no other way to add a route.
 */
import type { z } from 'zod';
import type { Actor, Scope } from '../accounts/account.ts';
import type { ProblemCode } from '../base/errors.ts';
import type { LimitKind } from './limits.ts';
import type { RequestSpelling } from './spellings.ts';
import { streamed } from './wire/answer.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface RouteInput<Query, Body> {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  readonly actor: Actor;
  /** Who is asking by now; throws what the request would be refused with. For answers that take their time. */
  readonly identifyAgain: () => Promise<Actor>;
  readonly request: Request;
  /** How the client calls fields. Answers are renamed by the dispatcher, except those that say they are `spelled`. */
  readonly spelling: RequestSpelling;
}

export interface AnswerDescription {
  readonly description: string;
  readonly schema?: z.ZodType;
  /** For answers that are not JSON. */
  readonly mediaTypes?: readonly string[];
}

export interface Route<Query = unknown, Body = unknown> {
  readonly method: Method;
  /** With parameters in braces, as OpenAPI writes them. */
  readonly path: string;
  readonly name: string;
  readonly summary: string;
  readonly description?: string;
  /** `optional` serves anonymous callers too; a key that is given must be valid in any case. */
  readonly auth: 'required' | 'optional' | 'none';
  /** What an account needs for it, beside being who it is. */
  readonly scope?: Scope;
  /** What it keeps busy beside the store, if anything: such requests are admitted apart from all others. */
  readonly work?: 'statistics';
  /** Answered however many requests are in progress: a server that does not say how it is would be restarted. */
  readonly isAlwaysAdmitted?: boolean;
  /** What limits it; every answer then carries the RateLimit headers. */
  readonly limit?: LimitKind;
  /** How much of the limit a request takes, when that is not one. */
  readonly limitCost?: (input: { readonly query: Query; readonly body: Body }) => number;
  readonly query?: z.ZodType<Query>;
  readonly body?: {
    readonly schema: z.ZodType<Body>;
    readonly bytesMax: number;
    /** For callers without a key, where it is less. */
    readonly anonymousBytesMax?: number;
  };
  /** Whether a repeated call may carry an Idempotency-Key. */
  readonly idempotent?: boolean;
  readonly answers: Readonly<Record<number, AnswerDescription>>;
  /** Beyond what follows from `auth`, `query` and `body`. */
  readonly problems: readonly ProblemCode[];
  handle(input: RouteInput<Query, Body>): Promise<Response> | Response;
}

/** A route as the document shows it, whoever answers it. */
export type RouteDescription = Omit<Route, 'handle'>;

/** Keeps the types of one route together while many different routes share a list. */
export function defineRoute<Query, Body>(route: Route<Query, Body>): Route {
  return route as unknown as Route;
}

/** Every problem a route can answer with. */
export function problemsOf(route: RouteDescription): ProblemCode[] {
  const codes = new Set<ProblemCode>(route.problems);
  if (route.auth !== 'none') codes.add('unauthorized').add('account_suspended');
  if (route.auth !== 'none' && route.method !== 'GET') codes.add('foreign_origin');
  if (route.scope !== undefined) codes.add('forbidden');
  if (route.limit !== undefined) codes.add('rate_limited');
  if (route.limitCost !== undefined) codes.add('plan_too_small');
  if (route.query !== undefined) codes.add('invalid_request');
  if (route.body !== undefined) {
    for (const code of [
      'invalid_json',
      'invalid_request',
      'body_too_large',
      'unsupported_media_type',
    ] as const) {
      codes.add(code);
    }
  }
  if (route.auth !== 'none') codes.add('store_unavailable').add('overloaded');
  return [...codes, 'internal'];
}

export function json(body: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return jsonText(JSON.stringify(body), status, headers);
}

export const jsonMediaType = 'application/json';
const jsonHeaders = {
  'Content-Type': jsonMediaType,
  'Cache-Control': 'no-store',
};

const spelledAnswers = new WeakSet<Response>();

/** For a large answer, which its route makes in the spelling of the request, a piece at a time. */
export function spelled(response: Response): Response {
  spelledAnswers.add(response);
  return response;
}

export const isSpelled = (response: Response): boolean => spelledAnswers.has(response);

/** For a body that is JSON already. */
export function jsonText(
  text: string | Uint8Array<ArrayBuffer>,
  status = 200,
  headers: Record<string, string> = {},
): Response {
  return new Response(text, { status, headers: { ...jsonHeaders, ...headers } });
}

/** For a body of JSON that would keep others waiting if it were put together and sent in one go. */
export function jsonPieces(pieces: readonly Uint8Array[]): Response {
  const rest = pieces.values();
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const { done, value } = rest.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
  });
  return streamed(body, jsonHeaders);
}
