/**
 * From a request to a route's answer: authenticates the caller, validates the input, then runs the route itself. Every
 * refusal and every fault is sent as problem+json; of a fault the caller learns only that it happened.
 */
import type { Actor } from '../accounts/account.ts';
import { notDone, Problem } from '../base/errors.ts';
import type { Random } from '../base/random.ts';
import { codePattern } from '../links/link.ts';
import type { Admitted } from './admission.ts';
import type { ApiRequest, RequestHeaders } from './api-request.ts';
import type { Identify } from './identity.ts';
import { JsonReply, type Reply } from './json-reply.ts';
import { type LimitGuard, withinLimits } from './limits.ts';
import { asProblem, isRead, problemResponse } from './problem.ts';
import { type BodyBudget, readJson } from './read-json.ts';
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

export type RequestHandler = (request: ApiRequest) => Promise<Reply>;

/** One handler for all routes that share a path. */
export function dispatcher(routes: readonly Route[], options: DispatchOptions): RequestHandler {
  const byMethod = new Map<string, Route>(routes.map(route => [route.method, route]));
  const allowed = [...byMethod.keys(), ...(byMethod.has('GET') ? ['HEAD'] : [])].join(', ');

  return async request => {
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    const route = byMethod.get(method as Method);
    const watch = options.watch(request);
    const spelling = new RequestSpelling(pathOf(request.url));
    let response: Reply | undefined;
    let admitted: Admitted | undefined;
    try {
      if (route === undefined) {
        throw new Problem('method_not_allowed', { detail: `Use ${allowed}.`, headers: { Allow: allowed } });
      }
      if (!route.isAlwaysAdmitted) admitted = options.admit(route, request);
      response = await watch.run(() => run(route, request, options, spelling));
      if (spelling.isForeign) response = await respelled(response, route, spelling);
    } catch (error) {
      const problem = spelling.problem(asProblem(error, fault => watch.fault(fault)));
      response = problemResponse(problem, isRead(request) ? 'is-read' : route?.repeat);
    } finally {
      admitted?.end(response?.status !== 503);
    }
    response.headers.set('X-Request-Id', watch.id);
    watch.end(route, response.status);
    return response;
  };
}

async function run(
  route: Route,
  request: ApiRequest,
  options: DispatchOptions,
  spelling: RequestSpelling,
): Promise<Reply> {
  const { identify, limits, addressOf } = options;
  // Whatever fails before the route itself has changed nothing.
  const actor = await identify(route, request).catch(notDone);
  if (limits === undefined || route.limit === undefined || !limits.applies(actor)) {
    return perform(route, request, actor, options, spelling, undefined);
  }
  return withinLimits(limits, { kind: route.limit, actor, address: addressOf(request) }, spend =>
    perform(route, request, actor, options, spelling, spend),
  );
}

async function perform(
  route: Route,
  request: ApiRequest,
  actor: Actor,
  { bodies, identify }: DispatchOptions,
  spelling: RequestSpelling,
  spend: ((cost: number) => Promise<void>) | undefined,
): Promise<Reply> {
  const input = {
    actor,
    identifyAgain: () => identify(route, request),
    request,
    params: paramsOf(request),
    query:
      route.query &&
      validated(route.query, spelling.canonical(queryOf(request), route.query), 'invalid_request'),
    body: undefined as unknown,
    spelling,
  };
  if (route.body === undefined) {
    if (spend !== undefined) await spend(route.limitCost?.(input) ?? 1).catch(notDone);
    return route.handle(input);
  }
  const { schema, bytesMax, anonymousBytesMax = bytesMax } = route.body;
  const isAnonymous = actor.kind === 'anonymous';
  const share = bodies.share(isAnonymous);
  try {
    const bodyMaxBytes = isAnonymous ? anonymousBytesMax : bytesMax;
    const given = await readJson(request, { bodyMaxBytes, share });
    const body = validated(schema, spelling.canonical(given, schema), 'invalid_request');
    const complete = { ...input, body };
    if (spend !== undefined) await spend(route.limitCost?.(complete) ?? 1).catch(notDone);
    return await route.handle(complete);
  } finally {
    share.release();
  }
}

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
  run(work: () => Promise<Reply>): Promise<Reply>;
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
