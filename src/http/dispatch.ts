/**
 * From a request to a route's answer: authenticates the caller, validates the input, then runs the route itself. Every
 * rejection and every fault is answered with problem+json, which reveals no details of a fault.
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
  /** Starts observing a request. */
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

/** A request and the state that its steps share. The steps take it as an argument, so no request needs closures. */
interface Call {
  /** Undefined for a method without a route. */
  readonly route: Route | undefined;
  /** The methods of the path, for the header `Allow`. */
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

/** A failure before the route itself runs has changed nothing. */
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

/** A call whose caller is known, with the input of its route. */
interface PreparedCall extends Pick<RoutedCall, 'route' | 'spelling'> {
  readonly input: Parameters<Route['handle']>[0] & { body: unknown };
  readonly spend: ((cost: number) => Promise<void>) | undefined;
  /** Its part of the body budget. */
  readonly share: BodyShare | undefined;
}

function perform(call: RoutedCall, actor: Actor, spend: PreparedCall['spend']): NowOrLater<Reply> {
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

function handleBody(prepared: PreparedCall): NowOrLater<Reply> {
  const { route, input, share } = prepared;
  const { bytesMax, anonymousBytesMax = bytesMax } = route.body!;
  const bodyMaxBytes = input.actor.kind === 'anonymous' ? anonymousBytesMax : bytesMax;
  return following(readJson(input.request, { bodyMaxBytes, share: share! }), handleGiven, prepared);
}

function handleGiven(given: unknown, prepared: PreparedCall): NowOrLater<Reply> {
  const { route, spelling, input } = prepared;
  const { schema } = route.body!;
  input.body = validated(schema, spelling.canonical(given, schema), 'invalid_request');
  return handle(prepared);
}

function handle({ route, input, spend }: PreparedCall): NowOrLater<Reply> {
  if (spend === undefined) return route.handle(input);
  return spend(route.limitCost?.(input) ?? 1)
    .catch(notDone)
    .then(() => route.handle(input));
}

function releaseAfter(reply: Reply, { share }: PreparedCall): Reply {
  share?.release();
  return reply;
}

function releaseAfterFailure(error: unknown, { share }: PreparedCall): never {
  share?.release();
  throw error;
}

const inItsSpelling = (reply: Reply, { route, spelling }: RoutedCall): NowOrLater<Reply> =>
  spelling.isForeign ? respelled(reply, route, spelling) : reply;

/** The answer with the client's names of fields. Streamed answers are not renamed. */
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
  // URLSearchParams drops a leading question mark, and the query may begin with one of its own.
  for (const [name, value] of new URLSearchParams(`?${queryTextOf(request.url)}`)) {
    if (seen.has(name))
      throw new Problem('invalid_request', { detail: `“${name}” is given twice.`, fields: { field: name } });
    seen.add(name);
    query.push([name, value]);
  }
  return Object.fromEntries(query);
}

/** Does not parse the whole URL, which fails when the Host header is malformed. */
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

/** Observes one API request from its beginning to its end. */
export interface RequestWatch {
  readonly id: string;
  /** Runs the work of the request, so that log lines and spans made meanwhile can be attributed to it. */
  run<Subject>(work: (subject: Subject) => NowOrLater<Reply>, subject: Subject): NowOrLater<Reply>;
  /** An error that is not a rejection. */
  fault(error: unknown): void;
  /** The answer is ready; undefined for a method without a route. */
  end(route: Route | undefined, status: number): void;
}

const idShape = /^[0-9A-Za-z][0-9A-Za-z._:+=-]{0,127}$/;
const ownIdBytes = 12;

/**
 * The id of a request is in its answer and in every log line about it, so a user who reports a problem can name it.
 * A caller, or a proxy in front of us, may send its own id; a malformed one is replaced, because it would end up in logs
 * and headers.
 */
export function requestIdOf(headers: RequestHeaders, random: Random): string {
  const given = headers.get('x-request-id');
  if (given !== null && idShape.test(given)) return given;
  return Buffer.from(random.bytes(ownIdBytes)).toString('hex');
}
