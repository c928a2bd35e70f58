/**
 * Everything that is answered, by path: short codes go straight to the redirect, API paths to the dispatcher, the
 * few pages and files are ready-made answers. What no route matches is neither a code nor a path of ours, and
 * nothing is looked up for it.
 */
import type { Clock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import { assets } from '../web/assets.ts';
import { dashboardHandlers } from '../web/dashboard/serve.ts';
import { docsPage } from '../web/docs-page.ts';
import { landingPage } from '../web/landing-page.ts';
import { assetHeaders, pageHeaders } from '../web/security-headers.ts';
import { Admission } from './admission.ts';
import { BodyBudget } from './body-budget.ts';
import type { ClientAddress } from './client-address.ts';
import { type DispatchOptions, dispatcher, type RequestHandler } from './dispatch.ts';
import { openApiDocument } from './openapi.ts';
import { PathTable } from './path-table.ts';
import { problemAnswer, refusal } from './problem.ts';
import { missing, type RedirectHandler } from './redirect.ts';
import { redirectDescription } from './redirect-description.ts';
import { jsonText, type Route } from './route.ts';
import { spellingsOf } from './spellings.ts';
import { Listener, type ListenerOptions } from './wire/listener.ts';
import type { WireRequest } from './wire/wire-request.ts';

export interface ServerOptions
  extends Pick<ListenerOptions, 'at' | 'connectionsMax' | 'keepAliveS' | 'identity' | 'isIntroducing'> {
  /** Time as sockets see it. */
  readonly clock: Clock;
  readonly baseUrlFor: (port: number) => string;
  /** Called once the port is known, because short URLs may contain it. */
  readonly build: (site: Site) => BuiltSite;
  readonly dispatch: Omit<DispatchOptions, 'isOverloaded' | 'bodies' | 'addressOf'>;
  /** Told of what went wrong outside of any request. */
  readonly onFault: (error: unknown) => void;
  /** Who asks, from the address at the other end of the connection and what a proxy there says. */
  readonly clientAddress: ClientAddress;
  /** Requests in progress beyond which whatever needs more than memory is refused. */
  readonly inFlightMax: number;
  readonly version: string;
  readonly anonymousAllowed: boolean;
}

export interface BuiltSite {
  /** Undefined where no short links are followed. */
  readonly redirect: RedirectHandler | undefined;
  readonly routes: readonly Route[];
  /** Whether people find pages here: the landing page, the docs, the dashboard. */
  readonly hasPages: boolean;
}

export interface Site {
  readonly baseUrl: string;
  readonly addressOf: (request: Request) => string;
  /** Whether the client of a request has most likely gone, so that nobody reads its answer. */
  readonly hasLeft: (request: Request) => boolean;
  /** Whether a request of this method that needs more than memory is one too many. */
  readonly isOverloaded: (method: string) => boolean;
}

/** Of all requests in progress; parsed, they take a few times as much. */
const bodyBytesInFlightMax = 256 * 1024 * 1024;

/** Only the front page is for search engines; what short links lead to is not ours to list. */
const robots = 'User-agent: *\nAllow: /$\nDisallow: /\n';
const textHeaders = { 'Content-Type': 'text/plain; charset=utf-8', 'X-Content-Type-Options': 'nosniff' };

type Handler = (request: Request) => Response | Promise<Response>;

export type HttpServer = Listener;

export function startServer(options: ServerOptions): HttpServer {
  const peers = new WeakMap<Request, WireRequest>();
  const paths = new PathTable<Handler>();
  let redirect: RedirectHandler = missing;

  // The handlers need the port and the port needs a listener: nothing is read before both are there.
  const { at, connectionsMax, clock, identity, isIntroducing, keepAliveS } = options;
  const listener = new Listener({
    at,
    connectionsMax,
    clock,
    identity,
    isIntroducing,
    ...(keepAliveS !== undefined && { keepAliveS }),
    refuse: problemAnswer,
    onFault: options.onFault,
    handle(request) {
      const match = paths.find(request.path);
      if (match !== undefined) {
        const platformRequest = Object.assign(request.toRequest(), { params: match.params });
        peers.set(platformRequest, request);
        return inProgress(request.method, Promise.resolve(match.handler(platformRequest)));
      }
      if (request.path.indexOf('/', 1) !== -1) return missing(request);
      const answer = redirect(request);
      return answer instanceof Promise ? inProgress(request.method, answer) : answer;
    },
  });

  const limits = { inFlightMax: options.inFlightMax, clock: options.clock };
  const reading = new Admission(limits);
  const changing = new Admission(limits);
  const admissionTo = (method: string): Admission =>
    method === 'GET' || method === 'HEAD' ? reading : changing;

  function inProgress<Kind extends { readonly status: number }>(
    method: string,
    answer: Promise<Kind>,
  ): Promise<Kind> {
    const end = admissionTo(method).begin();
    return answer.then(
      settled => {
        end(settled.status !== 503);
        return settled;
      },
      error => {
        end(true);
        throw error;
      },
    );
  }

  const site: Site = {
    baseUrl: options.baseUrlFor(listener.port),
    addressOf: request => options.clientAddress(peers.get(request)?.peer.address ?? '', request.headers),
    hasLeft: request => peers.get(request)?.peer.hasLeft ?? false,
    isOverloaded: method => listener.inFlight > options.inFlightMax || admissionTo(method).isFull,
  };
  const bodies = new BodyBudget(bodyBytesInFlightMax);
  const built = options.build(site);
  redirect = built.redirect ?? missing;
  const handlers = {
    ...fileHandlers(),
    ...(built.hasPages && pageHandlers(options, built.routes, site.baseUrl)),
  };
  for (const [path, handler] of Object.entries(handlers)) paths.add(path, handler);
  addRoutes(paths, { ...options.dispatch, ...site, bodies }, built.routes);
  return listener;
}

function addRoutes(paths: PathTable<Handler>, options: DispatchOptions, routes: readonly Route[]): void {
  for (const [path, ofPath] of Map.groupBy(routes, ({ path }) => path)) {
    const handler: RequestHandler = dispatcher(ofPath, options);
    for (const spelling of spellingsOf(path)) paths.add(spelling, handler);
  }
}

function pageHandlers(
  { version, anonymousAllowed }: ServerOptions,
  routes: readonly Route[],
  baseUrl: string,
): Record<string, Handler> {
  const described = [...routes, ...redirectDescription];
  // Printed when first asked for: it takes longer than the rest of a start.
  const document = once(() => openApiDocument(described, { version, baseUrl }));
  const documentText = once(() => JSON.stringify(document()));
  const docs = once(() => docsPage(document()));
  const landing = landingPage({ baseUrl, anonymousAllowed });
  return {
    '/': forReading(() => new Response(landing, { headers: pageHeaders })),
    '/docs': forReading(() => new Response(docs(), { headers: pageHeaders })),
    '/api/v1/openapi.json': forReading(() =>
      jsonText(documentText(), 200, { 'Access-Control-Allow-Origin': '*' }),
    ),
    ...Object.fromEntries(
      Object.entries(dashboardHandlers({ baseUrl })).map(([path, answer]) => [path, forReading(answer)]),
    ),
  };
}

/** What also a visitor who follows a link to nowhere needs. */
function fileHandlers(): Record<string, Handler> {
  const handlers: Record<string, Handler> = {
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
function forReading(answer: Handler): Handler {
  return request => {
    if (request.method === 'GET' || request.method === 'HEAD') return answer(request);
    const problem = new Problem('method_not_allowed', {
      detail: 'Use GET or HEAD.',
      headers: { Allow: 'GET, HEAD' },
    });
    return refusal(request, problem);
  };
}
