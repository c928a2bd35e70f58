/**
 * Metrics on a separate port, for networks where an address says nothing about the client: behind a load balancer that
 * replaces it, strangers and Prometheus look the same. With several workers the supervisor serves this port, so it also
 * reports workers that do not respond.
 */
import { createTrust } from '../base/addresses.ts';
import type { Clock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import { type Config, ConfigError } from '../config/config.ts';
import { describeFailure, type Log } from '../telemetry/log.ts';
import { type Metric, renderMetrics } from '../telemetry/metrics.ts';
import type { RequestHeaders } from './api-request.ts';
import { problemAnswer } from './problem.ts';
import { missing } from './redirect.ts';
import { metricsHeaders } from './routes/system.ts';
import { answerOf } from './wire/answer.ts';
import { Listener } from './wire/listener.ts';

interface MetricsPortOptions {
  readonly metrics: () => Promise<readonly Metric[]>;
  readonly clock: Clock;
  readonly log: Log;
}

const connectionsMax = 64;

/** Returns a function that closes it. Opens nothing if the settings name no port. */
export function openMetricsPort(
  { metricsPort, metricsHost }: Pick<Config, 'metricsPort' | 'metricsHost'>,
  { metrics, clock, log }: MetricsPortOptions,
): () => Promise<void> {
  if (metricsPort === undefined) return async () => {};
  const listener = listen();
  return async () => {
    const isDrained = listener.drain();
    listener.cutOff();
    await isDrained;
  };

  function listen(): Listener {
    try {
      return new Listener({
        at: { hostname: metricsHost, port: metricsPort! },
        connectionsMax,
        clock,
        refuse: problemAnswer,
        onFault: error => log.error('metrics could not be shown', { failure: describeFailure(error) }),
        handle(request) {
          if (request.path !== '/metrics') return missing(request);
          if (request.method !== 'GET' && request.method !== 'HEAD')
            return problemAnswer(new Problem('method_not_allowed', { headers: { Allow: 'GET, HEAD' } }));
          return metrics().then(shown => answerOf(200, metricsHeaders, renderMetrics(shown)));
        },
      });
    } catch (error) {
      throw new ConfigError(
        `metricsPort ${metricsPort} at ${metricsHost} cannot be used: ${(error as Error).message}`,
      );
    }
  }
}

type MetricsAccess = (peer: string, headers: RequestHeaders) => boolean;

/** Headers that proxies and CDNs add to the requests they forward. */
const forwardingHeaders =
  /^(?:forwarded|via|cdn-loop|x-forwarded.*|x-(?:real|client|cluster-client)-ip|x-original-.*|x-envoy-.*|x-varnish|(?:true-client|cf-connecting|fastly-client)-ip)$/;

const isLoopback = createTrust(['127.0.0.0/8', '::1/128']);
const loopbackHost = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i;

/**
 * Which clients may read `/metrics` on the public port without a key: programs on this machine and on the configured
 * networks. Only the peer of the connection counts. A forwarded request is always rejected: behind a local proxy that
 * is not in TERSE_TRUSTED_PROXIES, every client has a loopback address.
 */
export function createMetricsAccess(networks: readonly string[]): MetricsAccess {
  const isInNetworks = createTrust(networks);
  return (peer, headers) => {
    if ([...headers.keys()].some(name => forwardingHeaders.test(name))) return false;
    if (isInNetworks(peer)) return true;
    // Another name means a proxy that forwards requests unchanged, or DNS rebinding in a local browser.
    return isLoopback(peer) && loopbackHost.test(headers.get('host') ?? '');
  };
}
