/**
 * Routes requests by path: short codes go straight to the redirect, API paths to the dispatcher, and the few pages and
 * files are prebuilt answers. A path that no route matches is neither a code nor one of ours, and gets no lookup.
 */
import { addressGroups } from '../base/addresses.ts';
import type { Clock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import { assets } from '../web/assets.ts';
import { dashboardHandlers } from '../web/dashboard/serve.ts';
import { docsFileHandlers, docsPage } from '../web/docs-page.ts';
import { assetHeaders, pageHeaders } from '../web/layout.ts';
import { landingPage } from '../web/public-pages.ts';
import { Admission, type Admitted } from './admission.ts';
import { type ApiRequest, RoutedRequest } from './api-request.ts';
import type { ClientAddress } from './client-address.ts';
import { type DispatchOptions, dispatcher, type RequestWatch } from './dispatch.ts';
import { JsonReply, type Reply } from './json-reply.ts';
import { openApiDocument, redirectDescription } from './openapi.ts';
import { PathTable } from './path-table.ts';
import { problemAnswer, refusal } from './problem.ts';
import { BodyBudget } from './read-json.ts';
import { missing, type RedirectHandler } from './redirect.ts';
import { jsonText, type Route } from './route.ts';
import { spellingsOf } from './spellings.ts';
import type { Answer } from './wire/answer.ts';
import type { QuickAnswer } from './wire/connection-context.ts';
import type { Listener, ListenerOptions } from './wire/listener.ts';
import type { WireRequest } from './wire/wire-request.ts';

interface ServerOptions
  extends Pick<
    ListenerOptions,
    'at' | 'connectionsMax' | 'reserveMax' | 'keepAliveS' | 'identity' | 'hstsMaxAgeS' | 'sendsProxyHeader'
  > {
  readonly listen: (options: ListenerOptions) => HttpServer;
  /** For the timeouts of sockets and for admission. */
  readonly clock: Clock;
  readonly baseUrlFor: (port: number) => string;
  /** Called once the port is known, because short URLs may contain it. */
  readonly build: (site: Site) => BuiltSite;
  readonly dispatch: Omit<DispatchOptions, 'admit' | 'bodies' | 'addressOf' | 'watch'>;
  /** Begins to observe a request, given the address of its connection's peer. */
  readonly watch: (request: ApiRequest, peer: string) => RequestWatch;
  /** Receives errors that belong to no request. */
  readonly onFault: (error: unknown) => void;
  /** The client address, from the peer of the connection and what a proxy there reports. */
  readonly clientAddress: ClientAddress;
  /** Limit of requests of one kind in progress; beyond it, any that needs more than memory is rejected. */
  readonly inFlightMax: number;
  /** The share of all connections, bodies and requests in progress that one address may use. */
  readonly sharePercent: number;
  /** Proxies that forward the requests of many clients; their connections are not limited by address. */
  readonly isProxy: (address: string) => boolean;
  readonly version: string;
  readonly anonymousAllowed: boolean;
}

interface BuiltSite {
  /** Undefined where short links are not served. */
  readonly redirect?: RedirectHandler;
  /** Answers most redirects before they become requests. */
  readonly quick?: QuickAnswer | undefined;
  readonly routes: readonly Route[];
  /** Whether this server has pages for people: the landing page, the docs, the dashboard. */
  readonly hasPages: boolean;
}

export interface Site {
  readonly baseUrl: string;
  readonly addressOf: (request: ApiRequest) => string;
  readonly admit: DispatchOptions['admit'];
  readonly admitRedirect: (address: string) => Admitted;
  /** The peer of the connection (with the PROXY protocol, the client it names), independent of the headers. */
  readonly peerOf: (request: ApiRequest) => string;
  /** Whether the client of a request has most likely disconnected, so that its answer would not be read. */
  readonly hasLeft: (request: ApiRequest) => boolean;
}

/** Of the bodies of all requests in progress; parsed, they take a few times as much memory. */
const bodyBytesInFlightMax = 256 * 1024 * 1024;

/** Requests below it are answered even beyond the cap on connections. */
const healthPrefix = '/health/';
/** One thread computes statistics, and one those with filters; more requests than this would only queue. */
const statisticsMax = 64;

/** Search engines may index the front page only; the destinations of short links are not ours to list. */
const robots = 'User-agent: *\nAllow: /$\nDisallow: /\n';
/** The document is the same for every caller, so pages of any site may read it. */
const openApiHeaders = { 'Access-Control-Allow-Origin': '*', 'Cache-Control': 'no-cache' };
const textHeaders = { 'Content-Type': 'text/plain; charset=utf-8' };

type Handler = (request: WireRequest, params: Readonly<Record<string, string>>) => Promise<Answer | Response>;
/** Takes the platform's `Request`: pages and files are requested too rarely for its cost to matter. */
type PageHandler = (request: Request) => Response | Promise<Response>;

export type HttpServer = Listener;

export function startServer(options: ServerOptions): HttpServer {
  const paths = new PathTable<Handler>();
  let redirect: RedirectHandler = missing;
  let quick: QuickAnswer = () => 0;
  /** Length and first byte of each of our own paths: a request that may match one gets no quick answer. */
  const ownNames = new Set<number>();

  const { sharePercent, isProxy } = options;
  const clientAddressOf = ({ peer, headers }: WireRequest): string =>
    options.clientAddress(peer.address, headers);

  // The handlers need the port and the port needs a listener: nothing is read before both exist.
  const { at, connectionsMax, reserveMax, clock, identity, hstsMaxAgeS, sendsProxyHeader, keepAliveS } =
    options;
  const listener = options.listen({
    at,
    connectionsMax,
    reserveMax,
    clock,
    identity,
    hstsMaxAgeS,
    sendsProxyHeader,
    ...(keepAliveS !== undefined && { keepAliveS }),
    sharePercent,
    networkOf: address => (isProxy(address) ? undefined : addressGroups(address)),
    clientOf: request => addressGroups(clientAddressOf(request)),
    isVital: ({ path }) => path.startsWith(healthPrefix),
    refuse: problemAnswer,
    onFault: options.onFault,
    quick: (bytes, from, to, headers, peer, target) =>
      ownNames.has(nameKey(to - from, bytes[from])) ? 0 : quick(bytes, from, to, headers, peer, target),
    handle(request) {
      const match = paths.find(request.path);
      if (match !== undefined) return match.handler(request, match.params);
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
    addressOf: request => clientAddressOf(wireOf(request)),
    admitRedirect: address => redirects.begin(addressGroups(address)),
    admit(route, request) {
      const wireRequest = wireOf(request);
      const admitted = admissions[workOf(route)].begin(addressGroups(clientAddressOf(wireRequest)));
      wireRequest.onBodyWait = isWaiting => (isWaiting ? admitted.pause() : admitted.resume());
      return admitted;
    },
    peerOf: request => wireOf(request).peer.address,
    hasLeft: request => wireOf(request).peer.hasLeft ?? false,
  };
  const bodies = new BodyBudget(bodyBytesInFlightMax);
  const built = options.build(site);
  redirect = built.redirect ?? missing;
  quick = built.quick ?? quick;
  const handlers = {
    ...fileHandlers(),
    ...(built.hasPages && pageHandlers(options, built.routes, site.baseUrl)),
  };
  for (const [path, handler] of Object.entries(handlers))
    paths.add(path, async request => handler(request.toRequest()));
  const watch = (request: ApiRequest): RequestWatch => options.watch(request, site.peerOf(request));
  addRoutes(paths, { ...options.dispatch, ...site, bodies, watch }, built.routes);
  for (const name of paths.names) ownNames.add(nameKey(name.length, name.charCodeAt(0)));
  return listener;
}

function addRoutes(paths: PathTable<Handler>, options: DispatchOptions, routes: readonly Route[]): void {
  for (const [path, ofPath] of Map.groupBy(routes, ({ path }) => path)) {
    const dispatch = dispatcher(ofPath, options);
    const handler: Handler = (request, params) =>
      Promise.resolve(dispatch(new RoutedRequest(request, params))).then(answerTo);
    for (const spelling of spellingsOf(path)) paths.add(spelling, handler);
  }
}

const answerTo = (reply: Reply): Answer | Response => (reply instanceof JsonReply ? reply.toAnswer() : reply);

const nameKey = (length: number, first: number | undefined): number => length * 256 + (first ?? 0);

/** Every request that reaches a route was made by `addRoutes`. */
const wireOf = (request: ApiRequest): WireRequest => (request as RoutedRequest).wire;

function workOf({ method, work }: Pick<Route, 'method' | 'work'>): 'reading' | 'statistics' | 'changing' {
  if (work !== undefined) return work;
  return method === 'GET' ? 'reading' : 'changing';
}

function pageHandlers(
  { version, anonymousAllowed }: ServerOptions,
  routes: readonly Route[],
  baseUrl: string,
): Record<string, PageHandler> {
  const described = [...routes, ...redirectDescription];
  // Generated at the first request: it takes longer than the rest of the start.
  const document = once(() => openApiDocument(described, { version, baseUrl }));
  const documentText = once(async () => Buffer.from(JSON.stringify(await document())));
  const docs = docsPage();
  const landing = landingPage({ baseUrl, anonymousAllowed });
  return {
    '/': forReading(() => new Response(landing, { headers: pageHeaders })),
    '/docs': forReading(() => new Response(docs, { headers: pageHeaders })),
    '/api/v1/openapi.json': forReading(async () => jsonText(await documentText(), 200, openApiHeaders)),
    ...Object.fromEntries(
      Object.entries({ ...docsFileHandlers(), ...dashboardHandlers({ baseUrl }) }).map(([path, answer]) => [
        path,
        forReading(answer),
      ]),
    ),
  };
}

/** Files that a visitor of a missing link needs as well. */
function fileHandlers(): Record<string, PageHandler> {
  const handlers: Record<string, PageHandler> = {
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

/** A failure is not cached. */
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

/** Rejects all methods but GET and HEAD. */
function forReading(answer: PageHandler): PageHandler {
  return request => {
    if (request.method === 'GET' || request.method === 'HEAD') return answer(request);
    const problem = new Problem('method_not_allowed', {
      detail: 'Use GET or HEAD.',
      headers: { Allow: 'GET, HEAD' },
    });
    return refusal(request, problem);
  };
}
