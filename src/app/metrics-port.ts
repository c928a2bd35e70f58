/**
 * Metrics on a separate port, for networks where an address says nothing about the client: behind a load balancer that
 * replaces it, strangers and Prometheus look the same. With several workers the supervisor serves this port, so it also
 * reports workers that do not respond.
 */
import type { Clock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import { problemAnswer } from '../http/problem.ts';
import { missing } from '../http/redirect.ts';
import { metricsHeaders } from '../http/routes/system.ts';
import { answerOf } from '../http/wire/answer.ts';
import { Listener } from '../http/wire/listener.ts';
import { describeFailure, type Log } from '../ops/log.ts';
import { type Metric, renderMetrics } from '../ops/metrics.ts';
import { type Config, ConfigError } from './config.ts';

export interface MetricsPortOptions {
  readonly metrics: () => Promise<readonly Metric[]>;
  readonly clock: Clock;
  readonly log: Log;
}

const connectionsMax = 64;

/** Returns what closes it; nothing is opened where the settings name no port. */
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
