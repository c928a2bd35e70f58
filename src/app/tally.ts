/** What this process has answered and made, in plain fields, and the numbers a scrape shows of it. */
import type { Actor } from '../accounts/account.ts';
import type { CodeGenerator } from '../codes/generator.ts';
import { planOf } from '../http/limits.ts';
import type { Route } from '../http/route.ts';
import type { HttpServer } from '../http/server.ts';
import type { Link } from '../links/link.ts';
import { Histogram } from '../ops/histogram.ts';
import { LabelledCounter, type Metric, type Sample } from '../ops/metrics.ts';
import type { Resolver } from '../resolve/resolver.ts';
import { byLabel, metric, metricsOfHistogram, oneValue } from './metric-table.ts';

/** HTTP has none from here on. */
const statusMax = 600;

export class Tally {
  /** By status; in an array, because this is counted for every redirect. */
  readonly #redirects = new Float64Array(statusMax);
  readonly #redirectTimes = new Histogram();
  readonly #answers = new LabelledCounter<string>();
  readonly #answerTimes = new Histogram();
  readonly #made = new LabelledCounter<string>();

  countRedirect(status: number, tookMs: number): void {
    this.#redirects[status]! += 1;
    this.#redirectTimes.note(tookMs);
  }

  countAnswer(route: Route | undefined, status: number, tookMs: number): void {
    this.#answers.add(`${route?.name ?? 'none'} ${status}`);
    this.#answerTimes.note(tookMs);
  }

  countMade(actor: Actor, { origin }: Pick<Link, 'origin'>): void {
    this.#made.add(`${planOf(actor)} ${origin}`);
  }

  metrics(
    { hits, misses, shortcuts, storeReads, size }: Resolver,
    generator: Pick<CodeGenerator, 'available'>,
  ): Metric[] {
    return [
      metric('url_redirects_total', samplesByStatus(this.#redirects)),
      ...metricsOfHistogram('redirect_latency_seconds', this.#redirectTimes),
      byTwo('terse_api_answers_total', this.#answers, ['route', 'status']),
      ...metricsOfHistogram('terse_api_latency_seconds', this.#answerTimes),
      byTwo('url_shortens_total', this.#made, ['plan', 'kind']),
      // Not a number before the first lookup: nobody has missed anything yet.
      oneValue('cache_hit_ratio', hits / (hits + misses)),
      byLabel('terse_cache_lookups_total', { hit: hits, miss: misses }),
      oneValue('terse_cache_entries', size),
      oneValue('terse_store_reads_total', storeReads),
      oneValue('terse_never_issued_total', shortcuts),
      oneValue('kgs_available_keys', generator.available()),
    ];
  }
}

/** Of those that were given at all. */
function samplesByStatus(counts: Float64Array): Sample[] {
  return [...counts.entries()].flatMap(([status, value]) =>
    value === 0 ? [] : [{ labels: { status }, value }],
  );
}

/** Counted under two words with a space between. */
function byTwo(
  name: 'terse_api_answers_total' | 'url_shortens_total',
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
  counts: { evicted, turnedAway, shed, failedHandshakes, failedIntroductions },
}: Pick<HttpServer, 'connections' | 'inFlight' | 'bodiesGivenUp' | 'counts'>): Metric[] {
  return [
    oneValue('terse_connections', connections),
    oneValue('terse_requests_in_flight', inFlight),
    oneValue('terse_connections_evicted_total', evicted),
    oneValue('terse_connections_turned_away_total', turnedAway),
    oneValue('terse_connections_shed_total', shed),
    oneValue('terse_bodies_given_up_total', bodiesGivenUp),
    oneValue('terse_tls_handshakes_failed_total', failedHandshakes),
    oneValue('terse_proxy_introductions_failed_total', failedIntroductions),
  ];
}
