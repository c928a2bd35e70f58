/**
 * From a request to a route's answer: who is asking, is the input what the route takes, then the route itself.
 * Every refusal and every fault leaves as problem+json; nothing of a fault but "it happened" reaches the caller.
 */
import { type Actor, anonymous } from '../accounts/account.ts';
import type { Credentials } from '../accounts/api-key.ts';
import { Problem } from '../base/errors.ts';
import { codePattern } from '../links/link.ts';
import type { BodyBudget } from './body-budget.ts';
import { asProblem, problemResponse } from './problem.ts';
import { readJson } from './read-json.ts';
import { queryTextOf } from './request-query.ts';
import type { Method, Route } from './route.ts';
import { withCanonicalFields } from './spellings.ts';
import { twoLengths } from './two-lengths.ts';
import { validated } from './validated.ts';

export interface DispatchOptions {
  readonly credentials: Credentials;
  readonly isOverloaded: () => boolean;
  readonly keepOpen: (request: Request) => void;
  readonly bodies: BodyBudget;
  readonly onFault: (error: unknown, request: Request | undefined) => void;
  readonly onAnswer: (route: Route | undefined, request: Request, status: number) => void;
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
    let response: Response;
    try {
      const malformed = twoLengths(request);
      if (malformed !== undefined) throw malformed;
      if (route === undefined) {
        throw new Problem('method_not_allowed', { detail: `Use ${allowed}.`, headers: { Allow: allowed } });
      }
      // Whoever asks for health and numbers must hear the truth just then; a silent server would be restarted.
      if (route.auth !== 'none' && options.isOverloaded()) {
        throw new Problem('overloaded', { headers: { 'Retry-After': '1' } });
      }
      response = await run(route, request, options);
    } catch (error) {
      response = problemResponse(asProblem(error, fault => options.onFault(fault, request)));
    }
    options.onAnswer(route, request, response.status);
    return response;
  };
}

async function run(
  route: Route,
  request: RequestWithParams,
  { credentials, keepOpen, bodies }: DispatchOptions,
): Promise<Response> {
  const actor = await actorOf(route, request, credentials);
  const input = {
    actor,
    request,
    keepOpen: () => keepOpen(request),
    params: paramsOf(request),
    query: route.query && validated(route.query, queryOf(request), 'invalid_request'),
    body: undefined as unknown,
  };
  if (route.body === undefined) return route.handle(input);
  const { schema, bytesMax, anonymousBytesMax = bytesMax } = route.body;
  const isAnonymous = actor.kind === 'anonymous';
  const share = bodies.share(isAnonymous);
  try {
    const bodyMaxBytes = isAnonymous ? anonymousBytesMax : bytesMax;
    const body = withCanonicalFields(await readJson(request, { bodyMaxBytes, share }));
    return await route.handle({ ...input, body: validated(schema, body, 'invalid_request') });
  } finally {
    share.release();
  }
}

async function actorOf(route: Route, request: Request, credentials: Credentials): Promise<Actor> {
  if (route.auth === 'none') return anonymous;
  const secret = secretOf(request.headers);
  if (secret !== undefined) return credentials.authenticate(secret);
  if (route.auth === 'optional') return anonymous;
  throw new Problem('unauthorized', {
    detail: 'Send your API key as “Authorization: Bearer KEY” or “X-Api-Key: KEY”.',
  });
}

const secretLengthMax = 512;

/** Undefined when no credential was sent at all; one that is sent in any odd way is refused. */
function secretOf(headers: Headers): string | undefined {
  const authorization = headers.get('authorization');
  const apiKey = headers.get('x-api-key');
  if (authorization === null && apiKey === null) return undefined;
  const bearer = authorization === null ? undefined : /^Bearer +(\S+) *$/i.exec(authorization)?.[1];
  const secret = authorization === null ? apiKey : bearer;
  const contradicts = authorization !== null && apiKey !== null && apiKey !== bearer;
  if (!secret || contradicts || secret.length > secretLengthMax) {
    throw new Problem('unauthorized', {
      detail: 'The API key was not sent as “Bearer KEY” or “X-Api-Key: KEY”.',
    });
  }
  return secret;
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
