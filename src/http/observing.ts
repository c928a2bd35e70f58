/**
 * Observability of this process: the requests it has answered, their log lines and spans, and its own health. Observing
 * a request costs the API a microsecond or two; redirects are only counted.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Actor } from '../accounts/account.ts';
import { createTrust } from '../base/addresses.ts';
import type { Clock } from '../base/clock.ts';
import type { NowOrLater } from '../base/now-or-later.ts';
import type { Random } from '../base/random.ts';
import type { CodeGenerator } from '../codes/generator.ts';
import type { Config } from '../config/config.ts';
import { type Link, linkOrigins } from '../links/link.ts';
import type { LinkStore } from '../links/store.ts';
import { tracedStore } from '../links/traced-store.ts';
import type { Resolver } from '../resolve/resolver.ts';
import { describeFailure, type Log, type LogFields } from '../telemetry/log.ts';
import { byLabel, metric, metricsOfHistogram, oneValue } from '../telemetry/metric-table.ts';
import {
  Histogram,
  LabelledCounter,
  type Metric,
  type Sample,
  watchLoopDelay,
} from '../telemetry/metrics.ts';
import { SpanExporter } from '../telemetry/tracing/span-exporter.ts';
import {
  createTracer,
  type ParentContext,
  parseTraceparent,
  type Span,
  type TraceContext,
  type Tracer,
} from '../telemetry/tracing/tracer.ts';
import type { ApiRequest } from './api-request.ts';
import { type RequestWatch, requestIdOf } from './dispatch.ts';
import type { Reply } from './json-reply.ts';
import { planOf } from './limits.ts';
import type { Route } from './route.ts';
import type { HttpServer } from './server.ts';
import type { WireRequest } from './wire/wire-request.ts';

interface ObservingOptions {
  readonly config: Pick<Config, 'traces' | 'traceOneIn' | 'logRedirects' | 'trustedProxies'>;
  readonly version: string;
  readonly startedAt: number;
  readonly clock: Clock;
  readonly waitClock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface Observing {
  readonly tally: Tally;
  /** Undefined where traces are not collected. */
  readonly tracer: Tracer | undefined;
  /** Wraps the store so that traces contain its calls; does nothing where traces are not collected. */
  trace(store: LinkStore): LinkStore;
  readonly logRedirect: LogRedirect;
  /** `peer` is the address at the other end of the connection. */
  watch(request: ApiRequest, peer: string): RequestWatch;
  metrics(): Metric[];
  /** Sends the spans that are left. */
  stop(): Promise<void>;
}

const pathShownMax = 200;
const instanceIdBytes = 8;
const serverFault = 500;

export function startObserving(options: ObservingOptions): Observing {
  const { config, clock, random, log } = options;
  const tally = new Tally();
  const loop = watchLoopDelay(options.waitClock);
  const exporter = startExporter(options);
  const tracer = exporter && createTracer({ sink: exporter, clock, random, oneIn: config.traceOneIn });

  const current = new AsyncLocalStorage<TraceContext>();
  const within = { clock, log, tally, current };
  const isTrusted = createTrust(config.trustedProxies);

  /** Any client may name a trace. Only a trusted peer decides whether it is recorded, which costs us and collectors. */
  const parentOf = (request: ApiRequest, peer: string): ParentContext | undefined => {
    const sent = parseTraceparent(request.headers.get('traceparent'));
    if (sent === undefined || isTrusted(peer)) return sent;
    return { traceId: sent.traceId, spanId: sent.spanId };
  };

  return {
    tally,
    tracer,
    trace: store => (tracer === undefined ? store : tracedStore(store, tracer, () => current.getStore())),
    logRedirect: createRedirectLog(log, config.logRedirects),
    watch(request, peer) {
      const id = requestIdOf(request.headers, random);
      const parent = parentOf(request, peer);
      const span = tracer?.start('request', {
        kind: 'server',
        parent,
        attributes: { 'http.request.method': request.method, 'terse.request_id': id },
      });
      return new WatchedRequest(request, id, (span?.context ?? parent)?.traceId, span, within);
    },
    metrics: () => [
      ...metricsOfHistogram('terse_event_loop_delay_seconds', loop.delays),
      metric('terse_log_lines_total', log.lines.samples('level')),
      metric('terse_log_suppressed_total', log.suppressed.samples('level')),
      ...(exporter === undefined
        ? []
        : [byLabel('terse_spans_total', { exported: exporter.exported, dropped: exporter.dropped })]),
      ...ownProcessMetrics(options),
    ],
    async stop() {
      loop.stop();
      await exporter?.close();
    },
  };
}

/** The state that all watched requests of a process share. */
interface WatchContext extends Pick<ObservingOptions, 'clock' | 'log'> {
  readonly tally: Tally;
  readonly current: AsyncLocalStorage<TraceContext>;
}

class WatchedRequest implements RequestWatch {
  readonly id: string;
  readonly #request: ApiRequest;
  readonly #traceId: string | undefined;
  readonly #span: Span | undefined;
  readonly #within: WatchContext;
  readonly #startedMs: number;

  constructor(
    request: ApiRequest,
    id: string,
    traceId: string | undefined,
    span: Span | undefined,
    within: WatchContext,
  ) {
    this.id = id;
    this.#request = request;
    this.#traceId = traceId;
    this.#span = span;
    this.#within = within;
    this.#startedMs = within.clock.monotonicMs();
  }

  run<Subject>(work: (subject: Subject) => NowOrLater<Reply>, subject: Subject): NowOrLater<Reply> {
    if (this.#span === undefined) return work(subject);
    return this.#within.current.run(this.#span.context, work, subject);
  }

  fault(error: unknown): void {
    this.#within.log.error('request failed', {
      ...this.#fields(),
      path: pathOf(this.#request),
      failure: describeFailure(error),
    });
  }

  end(route: Route | undefined, status: number): void {
    const { clock, tally, log } = this.#within;
    const tookMs = clock.monotonicMs() - this.#startedMs;
    tally.countAnswer(route, status, tookMs);
    const name = route?.name ?? pathOf(this.#request);
    log.info('request', { ...this.#fields(), route: name, status, tookMs: rounded(tookMs) });
    const span = this.#span;
    if (span === undefined) return;
    span.rename(route?.name ?? 'request');
    span.set('http.response.status_code', status);
    if (route !== undefined) span.set('http.route', route.path);
    span.end(status >= serverFault ? `answered ${status}` : undefined);
  }

  #fields(): LogFields {
    const ids = { requestId: this.id, ...(this.#traceId !== undefined && { traceId: this.#traceId }) };
    return { ...ids, method: this.#request.method };
  }
}

function startExporter(options: ObservingOptions): SpanExporter | undefined {
  const { config, version, random, log } = options;
  if (config.traces === undefined) return undefined;
  return new SpanExporter({
    url: `${config.traces}/v1/traces`,
    resource: {
      'service.name': 'terse',
      'service.version': version,
      'service.instance.id': Buffer.from(random.bytes(instanceIdBytes)).toString('hex'),
    },
    clock: options.waitClock,
    onDown: reason => log.warn('traces cannot be sent; Terse continues without them', { reason }),
  });
}

function ownProcessMetrics({ version, startedAt }: ObservingOptions): Metric[] {
  const { user, system } = process.cpuUsage();
  return [
    metric('terse_build_info', [{ labels: { version }, value: 1 }]),
    oneValue('process_cpu_seconds_total', (user + system) / 1e6),
    oneValue('process_resident_memory_bytes', process.memoryUsage.rss()),
    oneValue('process_start_time_seconds', startedAt / 1_000),
  ];
}

/** Without the query, which may carry anything. */
function pathOf(request: ApiRequest): string | undefined {
  return URL.parse(request.url)?.pathname.slice(0, pathShownMax);
}

/** HTTP has no status from here on. */
const statusMax = 600;

/** Counts the answers and new links of this process, and makes metrics of them. */
class Tally {
  /** By status; in an array, because this is counted for every redirect. */
  readonly #redirects = new Float64Array(statusMax);
  readonly #redirectTimes = new Histogram();
  readonly #answers = new LabelledCounter<string>();
  readonly #answerTimes = new Histogram();
  readonly #made = new Map<string, Record<Link['origin'], number>>();

  countRedirect(status: number, tookMs: number): void {
    this.#redirects[status]! += 1;
    this.#redirectTimes.note(tookMs);
  }

  countAnswer(route: Route | undefined, status: number, tookMs: number): void {
    this.#answers.add(`${route?.name ?? 'none'} ${status}`);
    this.#answerTimes.note(tookMs);
  }

  countMade(actor: Actor, { origin }: Pick<Link, 'origin'>): void {
    const plan = planOf(actor);
    const counts = this.#made.get(plan);
    if (counts === undefined) this.#made.set(plan, { generated: 0, custom: 0, [origin]: 1 });
    else counts[origin] += 1;
  }

  metrics(
    { hits, misses, shortcuts, storeReads, size, bytes }: Resolver,
    generator: Pick<CodeGenerator, 'available'>,
  ): Metric[] {
    return [
      metric('url_redirects_total', samplesByStatus(this.#redirects)),
      ...metricsOfHistogram('redirect_latency_seconds', this.#redirectTimes),
      byTwo('terse_api_answers_total', this.#answers, ['route', 'status']),
      ...metricsOfHistogram('terse_api_latency_seconds', this.#answerTimes),
      metric(
        'url_shortens_total',
        [...this.#made].flatMap(([plan, counts]) =>
          linkOrigins.flatMap(kind =>
            counts[kind] === 0 ? [] : [{ labels: { plan, kind }, value: counts[kind] }],
          ),
        ),
      ),
      // NaN before the first lookup, when there is no ratio yet.
      oneValue('cache_hit_ratio', hits / (hits + misses)),
      byLabel('terse_cache_lookups_total', { hit: hits, miss: misses }),
      oneValue('terse_cache_entries', size),
      oneValue('terse_cache_bytes', bytes),
      oneValue('terse_store_reads_total', storeReads),
      oneValue('terse_never_issued_total', shortcuts),
      oneValue('kgs_available_keys', generator.available()),
    ];
  }
}

/** Only of statuses that were answered at least once. */
function samplesByStatus(counts: Float64Array): Sample[] {
  return [...counts.entries()].flatMap(([status, value]) =>
    value === 0 ? [] : [{ labels: { status }, value }],
  );
}

/** Each count is stored under its two label values, separated by a space. */
function byTwo(
  name: 'terse_api_answers_total',
  counts: LabelledCounter<string>,
  [first, second]: readonly [string, string],
): Metric {
  const samples = counts.samples('words').map(({ labels, value }) => {
    const [one = '', other = ''] = String(labels?.words).split(' ');
    return { labels: { [first]: one, [second]: other }, value };
  });
  return metric(name, samples);
}

export function connectionMetrics({
  connections,
  inFlight,
  bodiesGivenUp,
  counts: { evicted, rejected, shed, failedHandshakes, failedProxyHeaders },
}: Pick<HttpServer, 'connections' | 'inFlight' | 'bodiesGivenUp' | 'counts'>): Metric[] {
  return [
    oneValue('terse_connections', connections),
    oneValue('terse_requests_in_flight', inFlight),
    oneValue('terse_connections_evicted_total', evicted),
    oneValue('terse_connections_rejected_total', rejected),
    oneValue('terse_connections_shed_total', shed),
    oneValue('terse_bodies_timed_out_total', bodiesGivenUp),
    oneValue('terse_tls_handshakes_failed_total', failedHandshakes),
    oneValue('terse_proxy_protocol_failed_total', failedProxyHeaders),
  ];
}

type LogRedirect = (request: Pick<WireRequest, 'method' | 'path'>, status: number, tookMs: number) => void;

/**
 * Logs one redirect in N, 0 for none. A line for each would cost more than the redirect; a sample shows that the rest is
 * healthy, and where time goes. It contains no visitor's address.
 */
export function createRedirectLog(log: Pick<Log, 'info'>, oneIn: number): LogRedirect {
  let left = oneIn;
  return (request, status, tookMs) => {
    left -= 1;
    if (left !== 0) return;
    left = oneIn;
    const { method, path } = request;
    log.info('redirect', {
      method,
      path: path.slice(0, pathShownMax),
      status,
      tookMs: rounded(tookMs),
      oneIn,
    });
  };
}

/** To a hundredth of a millisecond. */
const rounded = (milliseconds: number): number => Math.round(milliseconds * 100) / 100;
