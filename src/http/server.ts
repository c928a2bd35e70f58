/**
 * Everything that listens. Bun's native router picks the handler: short codes go straight to the redirect, API
 * paths to the dispatcher, the few pages and files are ready-made answers. What no route matches is neither a
 * code nor a path of ours, and nothing is looked up for it.
 */
import type { Server } from 'bun';
import { Problem } from '../base/errors.ts';
import { assets } from '../web/assets.ts';
import { docsPage } from '../web/docs-page.ts';
import { landingPage } from '../web/landing-page.ts';
import { assetHeaders, pageHeaders } from '../web/security-headers.ts';
import { BodyBudget } from './body-budget.ts';
import { type DispatchOptions, dispatcher, type RequestHandler } from './dispatch.ts';
import { openApiDocument } from './openapi.ts';
import { asProblem, problemResponse, refusal } from './problem.ts';
import { type CodeRequest, missing, type RedirectHandler } from './redirect.ts';
import { redirectDescription } from './redirect-description.ts';
import { json, type Route } from './route.ts';
import { spellingsOf } from './spellings.ts';
import { twoLengths } from './two-lengths.ts';

export interface ServerOptions {
  readonly port: number;
  readonly hostname: string;
  readonly baseUrlFor: (port: number) => string;
  /** Called once the port is known, because short URLs may contain it. */
  readonly build: (site: Site) => { readonly redirect: RedirectHandler; readonly routes: readonly Route[] };
  readonly dispatch: Omit<DispatchOptions, 'isOverloaded' | 'keepOpen' | 'bodies'>;
  /** Requests in progress beyond which whatever needs more than memory is refused. */
  readonly inFlightMax: number;
  readonly version: string;
  readonly anonymousAllowed: boolean;
}

export interface Site {
  readonly baseUrl: string;
  /** The address at the other end of the connection. */
  readonly peerOf: (request: Request) => string;
  readonly isOverloaded: () => boolean;
  /** Lets an answer go on for longer than the idle timeout. */
  readonly keepOpen: (request: Request) => void;
}

/**
 * Idle connections and slow bodies are cut off after this; slow request heads after twelve seconds, which is
 * fixed in Bun.
 */
const idleTimeoutS = 8;
/** A little more than the largest body, so that our own answer to one that is too large gets through. */
const requestBytesMax = 17 * 1024 * 1024;
/** Of all requests in progress; parsed, they take a few times as much. */
const bodyBytesInFlightMax = 256 * 1024 * 1024;

/** Only the front page is for search engines; what short links lead to is not ours to list. */
const robots = 'User-agent: *\nAllow: /$\nDisallow: /\n';
const textHeaders = { 'Content-Type': 'text/plain; charset=utf-8', 'X-Content-Type-Options': 'nosniff' };

export type HttpServer = Server<undefined>;
type Handler = (request: CodeRequest) => Response | Promise<Response>;

export function startServer(options: ServerOptions): HttpServer {
  // The handlers need the port and the port needs a listener: it starts closed and opens at once.
  const server = Bun.serve({
    port: options.port,
    hostname: options.hostname,
    idleTimeout: idleTimeoutS,
    maxRequestBodySize: requestBytesMax,
    fetch: () => new Response(null, { status: 503 }),
  });
  const site: Site = {
    baseUrl: options.baseUrlFor(server.port!),
    peerOf: request => server.requestIP(request)?.address ?? '',
    isOverloaded: () => server.pendingRequests > options.inFlightMax,
    keepOpen: request => server.timeout(request, 0),
  };
  const bodies = new BodyBudget(bodyBytesInFlightMax);
  const { redirect, routes } = options.build(site);
  server.reload({
    routes: {
      ...pageHandlers(options, routes, site.baseUrl),
      ...apiHandlers({ ...options.dispatch, ...site, bodies }, routes),
      '/:code': redirect,
    },
    fetch: request => {
      const malformed = twoLengths(request);
      return malformed === undefined ? missing(request) : refusal(request, malformed);
    },
    error: error => problemResponse(asProblem(error, fault => options.dispatch.onFault(fault, undefined))),
  } as Parameters<typeof server.reload>[0]);
  return server;
}

function apiHandlers(options: DispatchOptions, routes: readonly Route[]): Record<string, RequestHandler> {
  const byPath = Map.groupBy(routes, ({ path }) => path);
  const handlers: Record<string, RequestHandler> = {};
  for (const [path, ofPath] of byPath) {
    const handler = dispatcher(ofPath, options);
    for (const spelling of spellingsOf(path)) handlers[spelling.replace(/\{(\w+)\}/g, ':$1')] = handler;
  }
  return handlers;
}

function pageHandlers(
  { version, anonymousAllowed }: ServerOptions,
  routes: readonly Route[],
  baseUrl: string,
): Record<string, Handler> {
  const described = [...routes, ...redirectDescription];
  // Printed when first asked for: it takes longer than the rest of a start.
  const document = once(() => openApiDocument(described, { version, baseUrl }));
  const docs = once(() => docsPage(document()));
  const landing = landingPage({ baseUrl, anonymousAllowed });
  const handlers: Record<string, Handler> = {
    '/': forReading(() => new Response(landing, { headers: pageHeaders })),
    '/docs': forReading(() => new Response(docs(), { headers: pageHeaders })),
    '/api/v1/openapi.json': forReading(() => json(document(), 200, { 'Access-Control-Allow-Origin': '*' })),
    '/robots.txt': forReading(() => new Response(robots, { headers: textHeaders })),
  };
  for (const [path, { body, contentType, etag }] of assets) {
    handlers[path] = forReading(request => {
      const headers = { ...assetHeaders, 'Content-Type': contentType, ETag: etag };
      if (request.headers.get('if-none-match') === etag) return new Response(null, { status: 304, headers });
      return new Response(body, { headers });
    });
  }
  return handlers;
}

function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** Pages and files are only ever read. */
function forReading(answer: (request: Request) => Response): Handler {
  return request => {
    const malformed = twoLengths(request);
    if (malformed !== undefined) return refusal(request, malformed);
    if (request.method === 'GET' || request.method === 'HEAD') return answer(request);
    const problem = new Problem('method_not_allowed', {
      detail: 'Use GET or HEAD.',
      headers: { Allow: 'GET, HEAD' },
    });
    return refusal(request, problem);
  };
}
