/**
 * The API as data. A route declares its input, its answers and its problems; the dispatcher validates by it, the
 * OpenAPI document is printed from it, and tests iterate over it. There is no other way to add a route.
 */
import type { z } from 'zod';
import type { Actor, Scope } from '../accounts/account.ts';
import { type Clock, Turns } from '../base/clock.ts';
import type { ProblemCode } from '../base/errors.ts';
import type { NowOrLater } from '../base/now-or-later.ts';
import type { ApiRequest } from './api-request.ts';
import { JsonReply, type Reply } from './json-reply.ts';
import type { LimitKind } from './limits.ts';
import type { JsonObject } from './schema-printer.ts';
import type { RequestSpelling } from './spellings.ts';
import { streamed } from './wire/answer.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

interface RouteInput<Query, Body> {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  readonly actor: Actor;
  /** The caller's current identity; throws the problem that rejects the request. For long-running answers. */
  readonly identifyAgain: () => Promise<Actor>;
  readonly request: ApiRequest;
  /** The client's names of fields. The dispatcher renames answers, except those marked as `spelled`. */
  readonly spelling: RequestSpelling;
}

export interface AnswerDescription {
  readonly description: string;
  readonly schema?: z.ZodType;
  /** For answers that are not JSON. */
  readonly mediaTypes?: readonly string[];
  /** Headers that only this answer has. */
  readonly headers?: Readonly<Record<string, { readonly description: string; readonly schema: JsonObject }>>;
}

export interface Route<Query = unknown, Body = unknown> {
  readonly method: Method;
  /** With parameters in braces, as OpenAPI writes them. */
  readonly path: string;
  readonly name: string;
  readonly summary: string;
  readonly description?: string;
  /** `optional` serves anonymous callers too; a key must be valid in any case. */
  readonly auth: 'required' | 'optional' | 'none';
  /** The permission that an account needs in addition to being authenticated. */
  readonly scope?: Scope;
  /** The resource it uses besides the store, if any: such requests are admitted separately. */
  readonly work?: 'statistics';
  /** Answered at any load: a server that does not report its health would be restarted. */
  readonly isAlwaysAdmitted?: boolean;
  /** The limit that applies; every answer then carries the RateLimit headers. */
  readonly limit?: LimitKind;
  /** How many tokens of the limit a request takes, when that is not one. */
  readonly limitCost?: (input: { readonly query: Query; readonly body: Body }) => number;
  readonly query?: z.ZodType<Query>;
  readonly body?: {
    readonly schema: z.ZodType<Body>;
    readonly bytesMax: number;
    /** A lower limit for callers without a key. */
    readonly anonymousBytesMax?: number;
  };
  /** How to repeat a call whose outcome is unknown: with its Idempotency-Key, as it is, or else after reading the state. */
  readonly repeat?: 'with-key' | 'as-is';
  readonly answers: Readonly<Record<number, AnswerDescription>>;
  /** Those that do not already follow from `auth`, `query`, `body` and the other fields. */
  readonly problems: readonly ProblemCode[];
  handle(input: RouteInput<Query, Body>): NowOrLater<Reply>;
}

/** A route as the OpenAPI document shows it, without its handler. */
export type RouteDescription = Omit<Route, 'handle'>;

type Assumed = 'auth' | 'problems';
type NewRoute<Query, Body> = Omit<Route<Query, Body>, Assumed> & Partial<Pick<Route, Assumed>>;

/** Checks the types within one route, and erases them so that different routes fit into one list. The default is to require a key. */
export function defineRoute<Query, Body>(route: NewRoute<Query, Body>): Route {
  return { auth: 'required', problems: [], ...route } as unknown as Route;
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

export function json(body: unknown, status = 200, headers: Record<string, string> = {}): JsonReply {
  return new JsonReply(JSON.stringify(body), status, { ...jsonHeaders, ...headers });
}

export const jsonMediaType = 'application/json';
const jsonHeaders = {
  'content-type': jsonMediaType,
  'cache-control': 'no-store',
};

/** For an answer with a secret in it: its length must not depend on its text, as it would if it were compressed. */
export const secretHeaders = { 'Cache-Control': 'no-store, no-transform' };

const spelledAnswers = new WeakSet<Reply>();

/** Marks an answer that is already in the spelling of the request. */
function spelled(response: Response): Response {
  spelledAnswers.add(response);
  return response;
}

export const isSpelled = (response: Reply): boolean => spelledAnswers.has(response);

/** For a body that is JSON already, and for an answer that sets several cookies. */
export function jsonText(
  text: string | Uint8Array<ArrayBuffer>,
  status = 200,
  headers: Record<string, string> = {},
): Response {
  const response = new Response(text, { status, headers: jsonHeaders });
  // One by one: in an object, a name in another case would be a second header.
  for (const name in headers) response.headers.set(name, headers[name]!);
  return response;
}

/** For a JSON body that would block other requests if it were built and sent in one go. */
function jsonPieces(pieces: readonly string[]): Response {
  const rest = pieces.values();
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const { done, value } = rest.next();
      if (done) controller.close();
      else controller.enqueue(Buffer.from(value));
    },
  });
  return streamed(body, jsonHeaders);
}

/** Items that are written with one call; many calls cost more than the text. A shorter list is sent whole. */
const itemsPerPiece = 200;
const piecesPerTurn = 1;

interface JsonListOptions<Item> {
  readonly clock: Clock;
  readonly spelling: RequestSpelling;
  /** The field that holds the list. */
  readonly name: string;
  readonly items: readonly Item[];
  readonly viewOf: (item: Item, index: number) => unknown;
  /** The other fields. */
  readonly rest?: Readonly<Record<string, unknown>>;
}

/**
 * Writes a long list as JSON and sends it a piece at a time, so that redirects run in between. Each item is already in
 * the spelling of the request.
 */
export async function jsonList<Item>(options: JsonListOptions<Item>): Promise<Response> {
  const { clock, spelling, name, items, viewOf, rest = {} } = options;
  const turns = new Turns(clock, piecesPerTurn);
  const pieces: string[] = [];
  let text = `{"${name}":[`;
  for (let from = 0; from < items.length; from += itemsPerPiece) {
    if (!turns.hasRoom()) await turns.next();
    const views = items
      .slice(from, from + itemsPerPiece)
      .map((item, place) => spelling.spell(viewOf(item, from + place)));
    if (from > 0) pieces.push(`${text},`);
    text = (from === 0 ? text : '') + JSON.stringify(views).slice(1, -1);
  }
  const others = JSON.stringify(spelling.spell(rest)).slice(1);
  text += others === '}' ? ']}' : `],${others}`;
  return spelled(pieces.length === 0 ? jsonText(text) : jsonPieces([...pieces, text]));
}
