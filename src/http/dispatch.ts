/**
 * From a request to a route's answer: authenticates the caller, validates the input, then runs the route itself. Every
 * refusal and every fault is sent as problem+json; of a fault the caller learns only that it happened.
 */
import type { Actor } from '../accounts/account.ts';
import { notDone, Problem } from '../base/errors.ts';
import { following, type NowOrLater, settling } from '../base/now-or-later.ts';
import type { Random } from '../base/random.ts';
import { codePattern } from '../links/link.ts';
import type { Admitted } from './admission.ts';
import type { ApiRequest, RequestHeaders } from './api-request.ts';
import type { Identify } from './identity.ts';
import { JsonReply, type Reply } from './json-reply.ts';
import { type LimitGuard, withinLimits } from './limits.ts';
import { asProblem, isRead, problemResponse } from './problem.ts';
import { type BodyBudget, type BodyShare, readJson } from './read-json.ts';
import { isSpelled, jsonMediaType, type Method, type Route } from './route.ts';
import { RequestSpelling } from './spellings.ts';
import { validated } from './validated.ts';

export interface DispatchOptions {
  readonly identify: Identify;
  /** Admits a request; throws when there are too many of its kind already. */
  readonly admit: (route: Pick<Route, 'method' | 'work'>, request: ApiRequest) => Admitted;
  readonly bodies: BodyBudget;
  /** Undefined where nothing is limited. */
  readonly limits: LimitGuard | undefined;
  /** The visitor's address, behind the proxies that are trusted. */
  readonly addressOf: (request: ApiRequest) => string;
  /** Begins to follow a request: its id, and the observers of its outcome. */
  readonly watch: (request: ApiRequest) => RequestWatch;
}

export type RequestHandler = (request: ApiRequest) => NowOrLater<Reply>;

/** One handler for all routes that share a path. */
export function dispatcher(routes: readonly Route[], options: DispatchOptions): RequestHandler {
  const byMethod = new Map<string, Route>(routes.map(route => [route.method, route]));
  const allowed = [...byMethod.keys(), ...(byMethod.has('GET') ? ['HEAD'] : [])].join(', ');

  return request => {
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    const call: Call = {
      route: byMethod.get(method as Method),
      allowed,
      request,
      options,
      watch: options.watch(request),
      spelling: new RequestSpelling(pathOf(request.url)),
      admitted: undefined,
    };
    return settling(answer, conclude, refuse, call);
  };
}

/** A request, and what its steps share. The steps are functions of it: a closure for each would be made for each request. */
interface Call {
  /** Undefined for a method without a route. */
  readonly route: Route | undefined;
  /** The methods that the path has. */
  readonly allowed: string;
  readonly request: ApiRequest;
  readonly options: DispatchOptions;
  readonly watch: RequestWatch;
  readonly spelling: RequestSpelling;
  admitted: Admitted | undefined;
}

/** A call whose method has a route. */
type RoutedCall = Call & { readonly route: Route };

function answer(call: Call): NowOrLater<Reply> {
  const { route, allowed, request, options, watch } = call;
  if (route === undefined) {
    throw new Problem('method_not_allowed', { detail: `Use ${allowed}.`, headers: { Allow: allowed } });
  }
  if (!route.isAlwaysAdmitted) call.admitted = options.admit(route, request);
  return following(watch.run(run, call as RoutedCall), inItsSpelling, call as RoutedCall);
}

function conclude(reply: Reply, { route, watch, admitted }: Call): Reply {
  admitted?.end(reply.status !== 503);
  reply.headers.set('x-request-id', watch.id);
  watch.end(route, reply.status);
  return reply;
}

function refuse(error: unknown, call: Call): Reply {
  const { route, request, watch, spelling, admitted } = call;
  try {
    const problem = spelling.problem(asProblem(error, fault => watch.fault(fault)));
    return conclude(problemResponse(problem, isRead(request) ? 'is-read' : route?.repeat), call);
  } finally {
    admitted?.end(true);
  }
}

/** Whatever fails before the route itself has changed nothing. */
const run = (call: RoutedCall): NowOrLater<Reply> => settling(identified, runAs, notDone, call);

const identified = ({ route, request, options }: RoutedCall): NowOrLater<Actor> =>
  options.identify(route, request);

function runAs(actor: Actor, call: RoutedCall): NowOrLater<Reply> {
  const { route, request, options } = call;
  const { limits, addressOf } = options;
  if (limits === undefined || route.limit === undefined || !limits.applies(actor)) {
    return perform(call, actor, undefined);
  }
  return withinLimits(limits, { kind: route.limit, actor, address: addressOf(request) }, spend =>
    perform(call, actor, spend),
  );
}

/** The call of a known caller, with the input of its route. */
interface Performance extends Pick<RoutedCall, 'route' | 'spelling'> {
  readonly input: Parameters<Route['handle']>[0] & { body: unknown };
  readonly spend: ((cost: number) => Promise<void>) | undefined;
  /** Of the budget for bodies. */
  readonly share: BodyShare | undefined;
}

function perform(call: RoutedCall, actor: Actor, spend: Performance['spend']): NowOrLater<Reply> {
  const { route, request, spelling, options } = call;
  const input = {
    actor,
    identifyAgain: async () => options.identify(route, request),
    request,
    params: paramsOf(request),
    query:
      route.query &&
      validated(route.query, spelling.canonical(queryOf(request), route.query), 'invalid_request'),
    body: undefined as unknown,
    spelling,
  };
  if (route.body === undefined) return handle({ route, spelling, input, spend, share: undefined });
  const share = options.bodies.share(actor.kind === 'anonymous');
  return settling(handleBody, releaseAfter, releaseAfterFailure, { route, spelling, input, spend, share });
}

function handleBody(performance: Performance): NowOrLater<Reply> {
  const { route, input, share } = performance;
  const { bytesMax, anonymousBytesMax = bytesMax } = route.body!;
  const bodyMaxBytes = input.actor.kind === 'anonymous' ? anonymousBytesMax : bytesMax;
  return following(readJson(input.request, { bodyMaxBytes, share: share! }), handleGiven, performance);
}

function handleGiven(given: unknown, performance: Performance): NowOrLater<Reply> {
  const { route, spelling, input } = performance;
  const { schema } = route.body!;
  input.body = validated(schema, spelling.canonical(given, schema), 'invalid_request');
  return handle(performance);
}

function handle({ route, input, spend }: Performance): NowOrLater<Reply> {
  if (spend === undefined) return route.handle(input);
  return spend(route.limitCost?.(input) ?? 1)
    .catch(notDone)
    .then(() => route.handle(input));
}

function releaseAfter(reply: Reply, { share }: Performance): Reply {
  share?.release();
  return reply;
}

function releaseAfterFailure(error: unknown, { share }: Performance): never {
  share?.release();
  throw error;
}

const inItsSpelling = (reply: Reply, { route, spelling }: RoutedCall): NowOrLater<Reply> =>
  spelling.isForeign ? respelled(reply, route, spelling) : reply;

/** The same answer under the names that the client uses. What is streamed has one spelling. */
async function respelled(response: Reply, route: Route, spelling: RequestSpelling): Promise<Reply> {
  const isJson = response.headers.get('content-type') === jsonMediaType;
  if (!isJson || isSpelled(response)) return response;
  const answer = spelling.answer(route.name, (await response.json()) as Record<string, unknown>);
  const text = JSON.stringify(answer);
  return response instanceof JsonReply
    ? response.with(text)
    : new Response(text, { status: response.status, headers: response.headers });
}

function paramsOf(request: ApiRequest): Readonly<Record<string, string>> {
  const params = request.params ?? {};
  for (const value of Object.values(params)) {
    if (!codePattern.test(value)) throw new Problem('not_found', { detail: 'Not found.' });
  }
  return params;
}

function queryOf(request: ApiRequest): Record<string, string> {
  const query: [string, string][] = [];
  const seen = new Set<string>();
  // With its question mark, because only the first one is dropped.
  for (const [name, value] of new URLSearchParams(`?${queryTextOf(request.url)}`)) {
    if (seen.has(name))
      throw new Problem('invalid_request', { detail: `“${name}” is given twice.`, fields: { field: name } });
    seen.add(name);
    query.push([name, value]);
  }
  return Object.fromEntries(query);
}

/**
 * The path and query of a request, independent of its Host header: with an odd host no parser accepts the whole URL.
 */

function pathOf(url: string): string {
  const start = url.indexOf('/', url.indexOf('//') + 2);
  const end = url.slice(start).search(/[?#]/);
  return end === -1 ? url.slice(start) : url.slice(start, start + end);
}

/** Without the question mark; empty when there is none. */
function queryTextOf(url: string): string {
  const at = url.indexOf('?');
  if (at === -1) return '';
  const end = url.indexOf('#', at);
  return end === -1 ? url.slice(at + 1) : url.slice(at + 1, end);
}

export interface RequestWatch {
  readonly id: string;
  /** Does the work of the request; work done meanwhile can be attributed to it. */
  run<Subject>(work: (subject: Subject) => NowOrLater<Reply>, subject: Subject): NowOrLater<Reply>;
  /** An error that is not a rejection. */
  fault(error: unknown): void;
  /** The answer is ready; undefined for a method without a route. */
  end(route: Route | undefined, status: number): void;
}

const idShape = /^[0-9A-Za-z][0-9A-Za-z._:+=-]{0,127}$/;
const ownIdBytes = 12;

/**
 * Observes one API request from its beginning to its end. Its id is in its answer and in every log line about it, so
 * that a user who reports a problem can name it. A caller, or a proxy before us, may send its own id; a malformed one
 * is replaced, because it would end up in logs and headers.
 */
export function requestIdOf(headers: RequestHeaders, random: Random): string {
  const given = headers.get('x-request-id');
  if (given !== null && idShape.test(given)) return given;
  return Buffer.from(random.bytes(ownIdBytes)).toString('hex');
}
