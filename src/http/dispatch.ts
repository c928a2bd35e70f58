/**
 * From a request to a route's answer: who is asking, is the input what the route takes, then the route itself.
 * Every refusal and every fault leaves as problem+json; nothing of a fault but "it happened" reaches the caller.
 */
import type { Actor } from '../accounts/account.ts';
import { Problem } from '../base/errors.ts';
import { codePattern } from '../links/link.ts';
import type { Admitted } from './admission.ts';
import type { BodyBudget } from './body-budget.ts';
import type { Identify } from './identity.ts';
import { type LimitGuard, withinLimits } from './limits.ts';
import { asProblem, problemResponse } from './problem.ts';
import { readJson } from './read-json.ts';
import { pathOf, queryTextOf } from './request-query.ts';
import type { RequestWatch } from './request-watch.ts';
import { isSpelled, jsonMediaType, type Method, type Route } from './route.ts';
import { RequestSpelling } from './spellings.ts';
import { validated } from './validated.ts';

export interface DispatchOptions {
  readonly identify: Identify;
  /** Lets a request in; throws when there are too many of its kind already. */
  readonly admit: (route: Pick<Route, 'method' | 'work'>, request: Request) => Admitted;
  readonly bodies: BodyBudget;
  /** Undefined where nothing is limited. */
  readonly limits: LimitGuard | undefined;
  /** The visitor's address, behind the proxies that are trusted. */
  readonly addressOf: (request: Request) => string;
  /** Begins to follow a request: its id, and whoever wants to know what becomes of it. */
  readonly watch: (request: Request) => RequestWatch;
}

export type RequestWithParams = Request & { readonly params?: Readonly<Record<string, string>> };
export type RequestHandler = (request: RequestWithParams) => Promise<Response>;

/** One handler for all routes that share a path. */
export function dispatcher(routes: readonly Route[], options: DispatchOptions): RequestHandler {
  const byMethod = new Map<string, Route>(routes.map(route => [route.method, route]));
  const allowed = [...byMethod.keys(), ...(byMethod.has('GET') ? ['HEAD'] : [])].join(', ');

  return async request => {
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    const route = byMethod.get(method as Method);
    const watch = options.watch(request);
    const spelling = new RequestSpelling(pathOf(request.url));
    let response: Response | undefined;
    let admitted: Admitted | undefined;
    try {
      if (route === undefined) {
        throw new Problem('method_not_allowed', { detail: `Use ${allowed}.`, headers: { Allow: allowed } });
      }
      if (!route.isAlwaysAdmitted) admitted = options.admit(route, request);
      response = await watch.run(() => run(route, request, options, spelling));
      if (spelling.isForeign) response = await respelled(response, route, spelling);
    } catch (error) {
      response = problemResponse(spelling.problem(asProblem(error, fault => watch.fault(fault))));
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
  request: RequestWithParams,
  options: DispatchOptions,
  spelling: RequestSpelling,
): Promise<Response> {
  const { identify, limits, addressOf } = options;
  const actor = await identify(route, request);
  if (limits === undefined || route.limit === undefined) {
    return perform(route, request, actor, options, spelling, async () => {});
  }
  return withinLimits(limits, { kind: route.limit, actor, address: addressOf(request) }, spend =>
    perform(route, request, actor, options, spelling, spend),
  );
}

async function perform(
  route: Route,
  request: RequestWithParams,
  actor: Actor,
  { bodies, identify }: DispatchOptions,
  spelling: RequestSpelling,
  spend: (cost: number) => Promise<void>,
): Promise<Response> {
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
    await spend(route.limitCost?.(input) ?? 1);
    return route.handle(input);
  }
  const { schema, bytesMax, anonymousBytesMax = bytesMax } = route.body;
  const isAnonymous = actor.kind === 'anonymous';
  const share = bodies.share(isAnonymous);
  try {
    const bodyMaxBytes = isAnonymous ? anonymousBytesMax : bytesMax;
    const given = await readJson(request, { bodyMaxBytes, share });
    const body = validated(schema, spelling.canonical(given, schema), 'invalid_request');
    await spend(route.limitCost?.({ ...input, body }) ?? 1);
    return await route.handle({ ...input, body });
  } finally {
    share.release();
  }
}

/** The same answer under the names that the client uses. What is streamed has one spelling. */
async function respelled(response: Response, route: Route, spelling: RequestSpelling): Promise<Response> {
  const isJson = response.headers.get('content-type') === jsonMediaType;
  if (!isJson || isSpelled(response)) return response;
  const answer = spelling.answer(route.name, (await response.json()) as Record<string, unknown>);
  return new Response(JSON.stringify(answer), { status: response.status, headers: response.headers });
}

function paramsOf(request: RequestWithParams): Readonly<Record<string, string>> {
  const params = request.params ?? {};
  for (const value of Object.values(params)) {
    if (!codePattern.test(value)) throw new Problem('not_found', { detail: 'There is no such thing.' });
  }
  return params;
}

function queryOf(request: Request): Record<string, string> {
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
