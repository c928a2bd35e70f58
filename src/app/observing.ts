/**
 * What can be seen of this process while it runs: what it has answered, the log lines and spans of its requests, and how
 * it is doing itself. Watching a request costs the API a microsecond or two; redirects are only counted.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { type Clock, systemClock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import { createTrust } from '../http/client-address.ts';
import { type RequestWatch, requestIdOf } from '../http/request-watch.ts';
import type { LinkStore } from '../links/store.ts';
import { describeFailure, type Log } from '../ops/log.ts';
import { watchLoopDelay } from '../ops/loop-delay.ts';
import type { Metric } from '../ops/metrics.ts';
import { SpanExporter } from '../ops/tracing/span-exporter.ts';
import { parseTraceparent, type TraceContext } from '../ops/tracing/trace-context.ts';
import { createTracer, type ParentContext, type Tracer } from '../ops/tracing/tracer.ts';
import type { Config } from './config.ts';
import { byLabel, metric, metricsOfHistogram, oneValue } from './metric-table.ts';
import { createRedirectLog, type LogRedirect, rounded } from './redirect-log.ts';
import { Tally } from './tally.ts';
import { tracedStore } from './traced-store.ts';

export interface ObservingOptions {
  readonly config: Pick<Config, 'traces' | 'traceOneIn' | 'logRedirects' | 'trustedProxies'>;
  readonly version: string;
  readonly startedAt: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface Observing {
  readonly tally: Tally;
  /** Undefined where nobody collects traces. */
  readonly tracer: Tracer | undefined;
  /** The same store; where traces are collected, its calls are in them. */
  trace(store: LinkStore): LinkStore;
  readonly logRedirect: LogRedirect;
  /** `peer` is the address at the other end of the connection. */
  watch(request: Request, peer: string): RequestWatch;
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
  const loop = watchLoopDelay(systemClock);
  const exporter = startExporter(options);
  const tracer = exporter && createTracer({ sink: exporter, clock, random, oneIn: config.traceOneIn });

  const current = new AsyncLocalStorage<TraceContext>();
  const isTrusted = createTrust(config.trustedProxies);

  /** Anyone may name a trace. Only a trusted peer decides whether it is recorded, which costs us and the collector. */
  const parentOf = (request: Request, peer: string): ParentContext | undefined => {
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
      const startedMs = clock.monotonicMs();
      const parent = parentOf(request, peer);
      const { method } = request;
      const attributes = { 'http.request.method': method, 'terse.request_id': id };
      const span = tracer?.start('request', { kind: 'server', parent, attributes });
      const traceId = (span?.context ?? parent)?.traceId;
      const ids = { requestId: id, ...(traceId !== undefined && { traceId }) };
      return {
        id,
        run: work => (span === undefined ? work() : current.run(span.context, work)),
        fault: error =>
          log.error('request failed', {
            ...ids,
            method,
            path: pathOf(request),
            failure: describeFailure(error),
          }),
        end(route, status) {
          const tookMs = clock.monotonicMs() - startedMs;
          tally.countAnswer(route, status, tookMs);
          log.info('request', {
            ...ids,
            method,
            route: route?.name ?? pathOf(request),
            status,
            tookMs: rounded(tookMs),
          });
          span?.rename(route?.name ?? 'request');
          span?.set('http.response.status_code', status);
          if (route !== undefined) span?.set('http.route', route.path);
          span?.end(status >= serverFault ? `answered ${status}` : undefined);
        },
      };
    },
    metrics: () => [
      ...metricsOfHistogram('terse_event_loop_delay_seconds', loop.delays),
      metric('terse_log_lines_total', log.lines.samples('level')),
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
    clock: systemClock,
    onAway: reason => log.warn('traces cannot be sent; Terse goes on without them', { reason }),
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
function pathOf(request: Request): string | undefined {
  return URL.parse(request.url)?.pathname.slice(0, pathShownMax);
}
