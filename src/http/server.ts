/**
 * Everything that is answered, by path: short codes go straight to the redirect, API paths to the dispatcher, the
 * few pages and files are ready-made answers. What no route matches is neither a code nor a path of ours, and
 * nothing is looked up for it.
 */
import type { Clock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import { assets } from '../web/assets.ts';
import { dashboardHandlers } from '../web/dashboard/serve.ts';
import { renderDocs } from '../web/docs-page.ts';
import { landingPage } from '../web/landing-page.ts';
import { assetHeaders, pageHeaders } from '../web/security-headers.ts';
import { addressGroups } from './address-group.ts';
import { Admission, type Admitted } from './admission.ts';
import { BodyBudget } from './body-budget.ts';
import type { ClientAddress } from './client-address.ts';
import { type DispatchOptions, dispatcher, type RequestHandler } from './dispatch.ts';
import { openApiDocument } from './openapi.ts';
import { PathTable } from './path-table.ts';
import { problemAnswer, refusal } from './problem.ts';
import { missing, type RedirectHandler } from './redirect.ts';
import { redirectDescription } from './redirect-description.ts';
import type { RequestWatch } from './request-watch.ts';
import { jsonText, type Route } from './route.ts';
import { spellingsOf } from './spellings.ts';
import { Listener, type ListenerOptions } from './wire/listener.ts';
import type { WireRequest } from './wire/wire-request.ts';

export interface ServerOptions
  extends Pick<
    ListenerOptions,
    'at' | 'connectionsMax' | 'keepAliveS' | 'identity' | 'hstsMaxAgeS' | 'isIntroducing'
  > {
  /** Time as sockets see it. */
  readonly clock: Clock;
  readonly baseUrlFor: (port: number) => string;
  /** Called once the port is known, because short URLs may contain it. */
  readonly build: (site: Site) => BuiltSite;
  readonly dispatch: Omit<DispatchOptions, 'admit' | 'bodies' | 'addressOf' | 'watch'>;
  /** Begins to follow a request, given the address at the other end of its connection. */
  readonly watch: (request: Request, peer: string) => RequestWatch;
  /** Told of what went wrong outside of any request. */
  readonly onFault: (error: unknown) => void;
  /** Who asks, from the address at the other end of the connection and what a proxy there says. */
  readonly clientAddress: ClientAddress;
  /** Requests of one kind in progress beyond which whatever needs more than memory is refused. */
  readonly inFlightMax: number;
  /** What one address may have of all connections, bodies and requests in progress. */
  readonly sharePercent: number;
  /** Peers that pass on the requests of many clients, whose connections are not limited by address. */
  readonly isProxy: (address: string) => boolean;
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
  readonly admit: DispatchOptions['admit'];
  readonly admitRedirect: (address: string) => Admitted;
  /** The peer of the connection (with the PROXY protocol, the client it names), whatever the headers say. */
  readonly peerOf: (request: Request) => string;
  /** Whether the client of a request has most likely gone, so that nobody reads its answer. */
  readonly hasLeft: (request: Request) => boolean;
}

/** Of all requests in progress; parsed, they take a few times as much. */
const bodyBytesInFlightMax = 256 * 1024 * 1024;

/** Answered however many are connected. */
const healthPrefix = '/health/';
/** One thread computes statistics; more of them than this would only wait. */
const statisticsMax = 64;

/** Only the front page is for search engines; what short links lead to is not ours to list. */
const robots = 'User-agent: *\nAllow: /$\nDisallow: /\n';
const textHeaders = { 'Content-Type': 'text/plain; charset=utf-8' };

type Handler = (request: Request) => Response | Promise<Response>;

export type HttpServer = Listener;

export function startServer(options: ServerOptions): HttpServer {
  const peers = new WeakMap<Request, WireRequest>();
  const paths = new PathTable<Handler>();
  let redirect: RedirectHandler = missing;

  const { sharePercent, isProxy } = options;
  const clientAddressOf = ({ peer, headers }: WireRequest): string =>
    options.clientAddress(peer.address, headers);

  // The handlers need the port and the port needs a listener: nothing is read before both are there.
  const { at, connectionsMax, clock, identity, hstsMaxAgeS, isIntroducing, keepAliveS } = options;
  const listener = new Listener({
    at,
    connectionsMax,
    clock,
    identity,
    hstsMaxAgeS,
    isIntroducing,
    ...(keepAliveS !== undefined && { keepAliveS }),
    sharePercent,
    networkOf: address => (isProxy(address) ? undefined : addressGroups(address)),
    clientOf: request => addressGroups(clientAddressOf(request)),
    isVital: ({ path }) => path.startsWith(healthPrefix),
    refuse: problemAnswer,
    onFault: options.onFault,
    handle(request) {
      const match = paths.find(request.path);
      if (match !== undefined) {
        const platformRequest = Object.assign(request.toRequest(), { params: match.params });
        peers.set(platformRequest, request);
        return Promise.resolve(match.handler(platformRequest));
      }
      if (request.path.indexOf('/', 1) !== -1) return missing(request);
      return redirect(request);
    },
  });

  const { inFlightMax } = options;
  const admissionOf = (max: number): Admission => new Admission({ inFlightMax: max, sharePercent, clock });
  const redirects = admissionOf(inFlightMax);
  const admissions = {
    reading: admissionOf(inFlightMax),
    statistics: admissionOf(Math.min(inFlightMax, statisticsMax)),
    changing: admissionOf(inFlightMax),
  };
  const site: Site = {
    baseUrl: options.baseUrlFor(listener.port),
    addressOf: request => clientAddressOf(peers.get(request)!),
    admitRedirect: address => redirects.begin(addressGroups(address)),
    admit(route, request) {
      const wireRequest = peers.get(request)!;
      const admitted = admissions[workOf(route)].begin(addressGroups(clientAddressOf(wireRequest)));
      wireRequest.onBodyWait = isWaiting => (isWaiting ? admitted.pause() : admitted.resume());
      return admitted;
    },
    peerOf: request => peers.get(request)!.peer.address,
    hasLeft: request => peers.get(request)!.peer.hasLeft ?? false,
  };
  const bodies = new BodyBudget(bodyBytesInFlightMax);
  const built = options.build(site);
  redirect = built.redirect ?? missing;
  const handlers = {
    ...fileHandlers(),
    ...(built.hasPages && pageHandlers(options, built.routes, site.baseUrl)),
  };
  for (const [path, handler] of Object.entries(handlers)) paths.add(path, handler);
  const watch = (request: Request): RequestWatch => options.watch(request, site.peerOf(request));
  addRoutes(paths, { ...options.dispatch, ...site, bodies, watch }, built.routes);
  return listener;
}

function addRoutes(paths: PathTable<Handler>, options: DispatchOptions, routes: readonly Route[]): void {
  for (const [path, ofPath] of Map.groupBy(routes, ({ path }) => path)) {
    const handler: RequestHandler = dispatcher(ofPath, options);
    for (const spelling of spellingsOf(path)) paths.add(spelling, handler);
  }
}

function workOf({ method, work }: Pick<Route, 'method' | 'work'>): 'reading' | 'statistics' | 'changing' {
  if (work !== undefined) return work;
  return method === 'GET' ? 'reading' : 'changing';
}

function pageHandlers(
  { version, anonymousAllowed }: ServerOptions,
  routes: readonly Route[],
  baseUrl: string,
): Record<string, Handler> {
  const described = [...routes, ...redirectDescription];
  // Printed when first asked for: it takes longer than the rest of a start.
  const document = once(() => openApiDocument(described, { version, baseUrl }));
  const documentText = once(async () => Buffer.from(JSON.stringify(await document())));
  const docs = once(async () => Buffer.from(await renderDocs(await document())));
  const landing = landingPage({ baseUrl, anonymousAllowed });
  return {
    '/': forReading(() => new Response(landing, { headers: pageHeaders })),
    '/docs': forReading(async () => new Response(await docs(), { headers: pageHeaders })),
    '/api/v1/openapi.json': forReading(async () =>
      jsonText(await documentText(), 200, { 'Access-Control-Allow-Origin': '*' }),
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

/** A failure is not kept. */
function once<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined;
  return () => {
    made ??= make().catch(error => {
      made = undefined;
      throw error;
    });
    return made;
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
